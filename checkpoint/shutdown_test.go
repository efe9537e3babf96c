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
		b.fail(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSave && c.Key.Partition == "3" {
				return storetest.Fault{Kind: storetest.Throttled}
			}
			return storetest.Fault{}
		})
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
