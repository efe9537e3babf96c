package checkpoint_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// A flush stopped at the first error, and left the partitions behind it
// unsaved.
func TestC6_OnePartitionsFailureDoesNotStopTheOthers(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(onSave("3", storetest.Fault{Kind: storetest.Throttled}))
		for i := range 6 {
			b.track(b.open(b.c, fmt.Sprint(i)), 1)[0].Ack()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.c.Flush(ctx)
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "orders/3")
		for i := range 6 {
			want := "1"
			if i == 3 {
				want = ""
			}
			require.Equal(t, want, b.row(fmt.Sprint(i)).Position)
		}
	}, checkpoint.Interval(time.Hour))
}

// Acks that came while Close was saving were dropped.
func TestC6_AcksDuringCloseCount(t *testing.T) {
	var left []ticket
	acked := 0
	hooks := checkpoint.Hooks{Committed: func(checkpoint.Checkpoint) {
		if len(left) > 0 && left[0].Ack() {
			acked++
			left = left[1:]
		}
	}}
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		left = b.track(p, 0, 1, 2, 3, 4, 5)
		left[0].Ack()
		left = left[1:]
		require.NoError(t, b.c.Close(t.Context()))
		require.Equal(t, 1, acked, "one while it flushed, none once it was final")
		require.Equal(t, fmt.Sprint(acked), b.row("a").Position)
		require.ErrorIs(t, p.Err(), checkpoint.ErrClosed)
	}, checkpoint.WithHooks(hooks))
}

// Acks that come while Release is saving count, and later ones are stale.
func TestC6_AcksDuringReleaseCount(t *testing.T) {
	var next []ticket
	hooks := checkpoint.Hooks{Committed: func(checkpoint.Checkpoint) {
		if len(next) > 0 && next[0].Ack() {
			next = next[1:]
		}
	}}
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		items := b.track(p, 0, 1, 2, 3)
		next = items[1:]
		items[0].Ack()
		require.NoError(b, p.Release(b.Context()))
		require.Equal(b, "1", b.row("a").Position, "one while it flushed, none once it was final")
		require.False(b, items[2].Ack())
	}, checkpoint.WithHooks(hooks))
}

// A partition that was finished before it was opened is neither held nor lost.
func TestC4_WhatIsCompleteStaysSoWhateverIsDoneToIt(t *testing.T) {
	bubble(t, func(b *scene) {
		first := b.open(b.c, "a")
		first.Seal()
		<-first.Committed()
		saves := b.saves()
		for _, end := range []func(*checkpoint.Partition[int]) error{
			func(p *checkpoint.Partition[int]) error { p.Abandon(); return nil },
			func(p *checkpoint.Partition[int]) error { return p.Release(b.Context()) },
		} {
			p := b.open(b.c, "a")
			<-p.Committed()
			<-p.Settled()
			require.False(b, p.Seal())
			require.Empty(b, b.c.Stats(), "it is not held")
			require.NoError(b, b.c.Flush(b.Context()))
			require.NoError(b, end(p))
			require.NoError(b, p.Err())
			select {
			case <-p.Lost():
				b.Fatal("lost")
			default:
			}
		}
		require.Equal(b, saves, b.saves())
		require.True(b, b.row("a").Complete)
	})
}

// A partition that becomes complete while Close is saving is saved as complete.
func TestC4_ACompletionDuringCloseIsKept(t *testing.T) {
	var last ticket
	hooks := checkpoint.Hooks{Committed: func(checkpoint.Checkpoint) { last.Ack() }}
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2)
		last = tickets[1]
		p.Seal()
		tickets[0].Ack()
		require.NoError(t, b.c.Close(t.Context()))
		require.Equal(t, "2", b.row("a").Position)
		require.True(t, b.row("a").Complete)
		<-p.Committed()
	}, checkpoint.WithHooks(hooks))
}

// A shutdown has little time: the store that came back in it is found, however
// long the outage was before.
func TestC5_AShutdownIsNotTooLateForTheBackoff(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(always(storetest.Throttled))
		b.track(b.open(b.c, "a"), 1)[0].Ack()
		time.Sleep(time.Hour)
		time.AfterFunc(5*time.Second, func() { b.works() })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, b.c.Close(ctx))
		require.Equal(t, "1", b.row("a").Position)
	})
}

// A store that does not even listen to its context holds up no shutdown.
func TestC7_CloseDoesNotWaitForADeafStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := checkpoint.NewCommitter(&deafStore{checkpoint.NewMemory()}, "orders", checkpoint.Logger(quiet))
		p, _, err := checkpoint.Open(t.Context(), c, "a", checkpoint.Integer[int]{})
		require.NoError(t, err)
		item, err := p.Track(t.Context(), 1, 1)
		require.NoError(t, err)
		item.Ack()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.Equal(t, context.DeadlineExceeded, c.Close(ctx))
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, p.Err(), checkpoint.ErrClosed)
		time.Sleep(time.Hour) // and ends once it is answered
	})
}

type deafStore struct{ *checkpoint.Memory }

func (d *deafStore) Save(_ context.Context, cp checkpoint.Checkpoint) error {
	time.Sleep(time.Minute)
	return d.Memory.Save(context.Background(), cp)
}

// Draining waits for items that carry no position as well.
func TestC6_DrainWaitsForHeldItems(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		first := b.track(p, 1)[0]
		held, err := p.TrackHold(t.Context(), 1)
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { first.Ack() })
		time.AfterFunc(2*time.Minute, func() { held.Ack() })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		require.NoError(t, b.c.Drain(ctx))
		require.Equal(t, 2*time.Minute, time.Since(began), "noticed at once, the interval notwithstanding")
		require.Equal(t, "1", b.row("a").Position)
	}, checkpoint.Interval(time.Hour))
}
