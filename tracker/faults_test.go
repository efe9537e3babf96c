package tracker

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each of these went wrong in somebody's production.

func mustTrack[P any](t *testing.T, f *Frontier[P], positions ...P) []Ticket[P] {
	t.Helper()
	var tickets []Ticket[P]
	for _, p := range positions {
		tk, err := f.Track(context.Background(), p, 1)
		require.NoError(t, err)
		tickets = append(tickets, tk)
	}
	return tickets
}

func requireAt[P any](t *testing.T, f *Frontier[P], want P) {
	t.Helper()
	require.NoError(t, f.check())
	pos, ok := f.Position()
	require.True(t, ok)
	require.Equal(t, want, pos)
}

// A peer keeps each item's node alive in its ack function, which then folds
// into the checkpoint a second time: acking 1, 2 and 1 again goes back to 1.
func TestT3_SecondAckChangesNothing(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 1, 2, 3, 4)
	require.True(t, tk[0].Ack())
	require.True(t, tk[1].Ack())
	requireAt(t, &f, 2)
	require.False(t, tk[0].Ack())
	requireAt(t, &f, 2)
	// The slot of the first is in use again; its old ticket does not own it.
	later := mustTrack(t, &f, 5, 6)
	require.False(t, tk[0].Ack())
	require.False(t, tk[1].Discard())
	require.Equal(t, 4, f.Stats().Outstanding)
	require.True(t, later[0].Ack())
	requireAt(t, &f, 2)
	require.EqualValues(t, 3, f.Stats().Stale)
}

// Settlement keyed by the message's address: a retry layer hands on a copy, and
// its acks are no-ops. A ticket is a value; any copy of it settles, once.
func TestT3_AnyCopyOfATicketSettlesOnce(t *testing.T) {
	type message struct {
		body   string
		ticket Ticket[int]
	}
	var f Frontier[int]
	m := &message{"order", mustTrack(t, &f, 1)[0]}
	retried := &message{m.body, m.ticket}
	require.True(t, retried.ticket.Ack())
	requireAt(t, &f, 1)
	require.False(t, m.ticket.Ack())
}

// Acks that come after close were dropped although close waited for them.
func TestT5_AcksAfterSealCount(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 1, 2)
	require.True(t, f.Seal())
	done := f.Done()
	require.True(t, tk[1].Ack())
	require.False(t, isClosed(done))
	require.True(t, tk[0].Ack())
	require.True(t, isClosed(done))
	requireAt(t, &f, 2)
}

// Nothing tracked was taken for everything done.
func TestT5_EmptyIsNotComplete(t *testing.T) {
	var f Frontier[int]
	require.False(t, isClosed(f.Done()))
	require.False(t, f.Snapshot().Complete)
	tk := mustTrack(t, &f, 1)
	require.True(t, tk[0].Ack())
	require.False(t, isClosed(f.Done()), "settled is not sealed")
	require.True(t, f.Seal())
	require.True(t, isClosed(f.Done()))
	require.True(t, f.Snapshot().Complete)

	var none Frontier[int]
	require.True(t, none.Seal())
	require.True(t, isClosed(none.Done()), "sealed without an item is complete")
	_, ok := none.Position()
	require.False(t, ok, "and yet has no position")
}

// The zero value of a position was taken for "none".
func TestT1_ZeroPositionIsAPosition(t *testing.T) {
	var f Frontier[int]
	_, ok := f.Position()
	require.False(t, ok)
	mustTrack(t, &f, 0)[0].Ack()
	requireAt(t, &f, 0)

	var g Frontier[string]
	tk := mustTrack(t, &g, "a", "")
	require.Equal(t, 2, AckAll(tk))
	requireAt(t, &g, "")
}

// Several records shared one timestamp; resting on it after the first of them
// lost the others at the next restart.
func TestT9_SharedPositionIsReachedByTheLastOfIt(t *testing.T) {
	ctx := context.Background()
	var f Frontier[string]
	before := mustTrack(t, &f, "12:00")
	first, err := f.TrackHold(ctx, 1)
	require.NoError(t, err)
	second, err := f.TrackHold(ctx, 1)
	require.NoError(t, err)
	last := mustTrack(t, &f, "12:01")
	AckAll(before)
	require.True(t, first.Ack())
	requireAt(t, &f, "12:00")
	AckAll(last)
	requireAt(t, &f, "12:00")
	require.True(t, second.Ack())
	requireAt(t, &f, "12:01")
}

// Items that carry the same position without a hold are items like any other:
// none is merged with another, and each has to settle.
func TestT1_ItemsOfOnePositionAreCountedOneByOne(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 7, 7, 7, 8)
	require.True(t, tk[3].Ack())
	require.True(t, tk[1].Ack())
	require.True(t, tk[0].Ack())
	requireAt(t, &f, 7)
	require.EqualValues(t, 3, f.Stats().Oldest)
	require.True(t, tk[2].Ack())
	requireAt(t, &f, 8)
}

// An idle source never moved its durable position, and retention passed it. A
// heartbeat is tracked and settled like an item, behind what is still out.
func TestT1_HeartbeatMovesAnIdlePartitionButPassesNothing(t *testing.T) {
	var f Frontier[int]
	heartbeat := func(pos int) { mustTrack(t, &f, pos)[0].Ack() }
	heartbeat(10)
	requireAt(t, &f, 10)
	out := mustTrack(t, &f, 11)
	heartbeat(20)
	requireAt(t, &f, 10)
	require.True(t, out[0].Ack())
	requireAt(t, &f, 20)
}

// Two acks of one item made a counter negative and the process panic.
func TestT3_DoubleAcksOfAllKindsAreOrdinary(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 1, 2, 3)
	require.Equal(t, 2, AckAll([]Ticket[int]{tk[1], tk[1], {}, tk[0], tk[1]}))
	require.False(t, tk[0].Discard())
	require.False(t, tk[0].Nack(errors.New("late")))
	require.True(t, f.Seal())
	require.True(t, tk[2].Discard())
	require.False(t, tk[2].Ack())
	require.True(t, isClosed(f.Done()))
	require.False(t, f.Seal())
	requireAt(t, &f, 3)
}

// One AckAll named an item twice, and the item had been moved to a smaller slice:
// the second mention found it by the forwarding entry of the first.
func TestT3_TwiceInOneBatchAfterAMove(t *testing.T) {
	fewSlots(t)
	var f Frontier[int]
	positions := make([]int, 200)
	for i := range positions {
		positions[i] = i
	}
	tk := mustTrack(t, &f, positions...)
	const left = 3
	require.Equal(t, len(tk)-left, AckAll(tk[left:]))
	require.Len(t, f.moved, left)
	require.Equal(t, 1, AckAll([]Ticket[int]{tk[1], tk[1], tk[1]}))
	require.Equal(t, 2, f.Stats().Outstanding)
	require.Equal(t, 2, AckAll([]Ticket[int]{tk[0], tk[1], tk[2], tk[0]}))
	requireAt(t, &f, 199)
}

// Positions were taken for consecutive numbers: after 10 the code waited for
// 11, which did not exist; and a smaller one was taken for an older one.
func TestT2_OrderIsTheOrderOfTracking(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 10, 1_000, 3, -5)
	require.True(t, tk[0].Ack())
	requireAt(t, &f, 10)
	require.True(t, tk[2].Ack())
	requireAt(t, &f, 10)
	require.True(t, tk[1].Ack())
	requireAt(t, &f, 3)
	require.True(t, tk[3].Ack())
	requireAt(t, &f, -5)
}

// Records that a filter drops never moved the position, or a dropped tail
// pinned it.
func TestT1_DiscardedItemsAreProgress(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 1, 2, 3, 4)
	for _, i := range []int{3, 0, 2} {
		require.True(t, tk[i].Discard())
	}
	requireAt(t, &f, 1)
	require.True(t, tk[1].Ack())
	requireAt(t, &f, 4)
	s := f.Stats()
	require.Equal(t, []uint64{1, 3}, []uint64{s.Acked, s.Discarded}, "told apart all the same")
}

// A nack that ended the item counted what was not delivered as done; one that
// was final left its partition pinned without a word.
func TestT4_PinnedPartitionIsReported(t *testing.T) {
	var f Frontier[int]
	tk := mustTrack(t, &f, 1, 2, 3)
	require.True(t, tk[1].Ack())
	require.True(t, tk[0].Nack(errors.New("dead-lettering failed")))
	s := f.Stats()
	require.EqualValues(t, 1, s.Oldest)
	require.True(t, s.OldestNacked)
	require.Equal(t, "frontier=none outstanding=[#1! #3]", f.String())
	require.True(t, tk[0].Discard(), "given up by choice")
	requireAt(t, &f, 2)
	require.False(t, f.Stats().OldestNacked)
}

// Revoking a partition raced with an ack, and the old owner committed the new
// owner's progress.
func TestT7_AckAfterAbandonMovesNothingOfAnyAttempt(t *testing.T) {
	var hooks int
	old := New[int](Config{OnAdvance: func() { hooks++ }})
	tk := mustTrack(t, old, 1, 2)
	require.True(t, tk[0].Ack())
	require.True(t, old.Abandon())
	require.False(t, old.Abandon())
	now := New[int](Config{})
	again := mustTrack(t, now, 2)
	require.False(t, tk[1].Ack())
	require.Zero(t, AckAll(tk))
	requireAt(t, old, 1)
	require.Equal(t, 1, hooks)
	require.Equal(t, 1, now.Stats().Outstanding)
	require.False(t, old.Seal())
	_, err := old.Track(context.Background(), 3, 1)
	require.ErrorIs(t, err, ErrAbandoned)
	require.True(t, again[0].Ack())
}

func TestT7_WhatIsCompleteStaysComplete(t *testing.T) {
	var f Frontier[int]
	AckAll(mustTrack(t, &f, 1))
	f.Seal()
	was := f.Snapshot()
	require.False(t, f.Abandon())
	require.Equal(t, was, f.Snapshot())
	require.False(t, f.Stats().Abandoned)
}

// OnAdvance runs outside the lock: it may look at, and even settle, whatever it
// likes; and it tells of the last item even if the frontier cannot rest on it.
func TestT1_OnAdvanceMayCallBack(t *testing.T) {
	var f *Frontier[int]
	var seen []string
	f = New[int](Config{OnAdvance: func() { seen = append(seen, f.String()) }})
	tk := mustTrack(t, f, 1, 2)
	hold, _ := f.TrackHold(context.Background(), 1)
	require.True(t, tk[1].Ack())
	require.True(t, tk[0].Ack())
	require.True(t, hold.Ack())
	require.True(t, f.Seal())
	require.Equal(t, []string{
		"frontier=2 outstanding=[#3]",
		"frontier=2 outstanding=[]",
		"frontier=2 outstanding=[] complete",
	}, seen)
}

// An item that the frontier cannot rest on completes it all the same, settled
// alone or in a batch, and who watches Version sees it.
func TestT5_HoldSettledLastCompletes(t *testing.T) {
	for name, settle := range map[string]func(Ticket[int]){
		"Ack":     func(tk Ticket[int]) { tk.Ack() },
		"Discard": func(tk Ticket[int]) { tk.Discard() },
		"AckAll":  func(tk Ticket[int]) { AckAll([]Ticket[int]{tk}) },
	} {
		t.Run(name, func(t *testing.T) {
			var hooks int
			f := New[int](Config{OnAdvance: func() { hooks++ }})
			hold, err := f.TrackHold(context.Background(), 1)
			require.NoError(t, err)
			require.True(t, f.Seal())
			settle(hold)
			require.Equal(t, Snapshot[int]{Complete: true, Version: 1, Settled: 1}, f.Snapshot())
			require.Equal(t, 1, hooks)
		})
	}
}

func TestMisusePanics(t *testing.T) {
	var f Frontier[int]
	require.PanicsWithValue(t, "tracker: negative weight", func() { _, _ = f.Track(context.Background(), 1, -1) })
	require.PanicsWithValue(t, "tracker: negative weight", func() { _, _ = f.TryTrack(1, -1) })
	require.PanicsWithValue(t, "tracker: negative weight", func() { _, _ = f.TrackHold(context.Background(), -1) })
	for _, weights := range [][]int64{{-1}, {2, -1}, {math.MaxInt64, 1}} { // the last: a sum that overflows
		items := make([]Item[int], len(weights))
		for i, w := range weights {
			items[i].Weight = w
		}
		require.PanicsWithValue(t, "tracker: negative weight", func() {
			_, _ = f.TrackAll(context.Background(), items, nil)
		}, "%v", weights)
	}
	require.Panics(t, func() { New[int](Config{Limit: -1}) })
	require.Panics(t, func() { NewGroup[int, int](GroupConfig[int]{Limit: 1}) })
	require.Panics(t, func() { NewGroup[int, int](GroupConfig[int]{Share: -1}) })
	require.Zero(t, f.Stats(), "and nothing is tracked or locked")
}
