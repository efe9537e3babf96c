package checkpoint_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

// A refused conditional write was read as "somebody has done it already".
func TestC3_ARefusedWriteIsALossNotASuccess(t *testing.T) {
	var fenced []checkpoint.Key
	var committed int
	hooks := checkpoint.Hooks{
		Fenced:    func(key checkpoint.Key, _ error) { fenced = append(fenced, key) },
		Committed: func(checkpoint.Checkpoint) { committed++ },
	}
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2)
		other := b.committer()
		defer other.Close(t.Context())
		thief := b.open(other, "a")
		tickets[0].Ack()
		require.NoError(t, p.Err(), "not known yet")
		err := b.c.Flush(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrFenced)
		<-p.Lost()
		require.ErrorIs(t, p.Err(), checkpoint.ErrFenced)
		require.ErrorContains(t, p.Err(), "orders/a is lost")
		require.Equal(t, []checkpoint.Key{p.Key()}, fenced)
		require.Zero(t, committed)
		require.False(t, tickets[1].Ack())
		require.ErrorIs(t, p.Ack(t.Context(), tickets[1]), checkpoint.ErrFenced)
		_, err = p.Track(t.Context(), 3, 1)
		require.ErrorIs(t, err, tracker.ErrAbandoned)
		saves := b.saves()
		time.Sleep(time.Hour)
		require.Equal(t, saves, b.saves(), "a lost fence is never tried again")
		require.Equal(t, "", b.row("a").Position)
		b.track(thief, 1)[0].Ack()
		require.NoError(t, other.Close(t.Context()))
		require.Equal(t, "1", b.row("a").Position)
	}, checkpoint.WithHooks(hooks))
}

// Opening a partition again takes it from the earlier attempt, in whatever
// order the answers of two racing claims come back.
func TestC3_TheLaterClaimHoldsWhicheverIsAnsweredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowClaims{Memory: checkpoint.NewMemory(), answer: make(chan time.Duration, 2)}
		slow.answer <- 2 * time.Second
		slow.answer <- time.Second
		c := checkpoint.NewCommitter(slow, "orders")
		var wg sync.WaitGroup
		var first, second *checkpoint.Partition[int]
		var errFirst, errSecond error
		wg.Go(func() { first, _, errFirst = checkpoint.Open(t.Context(), c, "a", checkpoint.Integer[int]{}) })
		synctest.Wait()
		wg.Go(func() { second, _, errSecond = checkpoint.Open(t.Context(), c, "a", checkpoint.Integer[int]{}) })
		wg.Wait()
		require.NoError(t, errSecond)
		require.ErrorIs(t, errFirst, checkpoint.ErrFenced)
		require.Nil(t, first)
		require.NoError(t, second.Err())
		item, err := second.Track(t.Context(), 1, 1)
		require.NoError(t, err)
		item.Ack()
		require.NoError(t, c.Close(t.Context()))
		cp, err := slow.Load(t.Context(), second.Key())
		require.NoError(t, err)
		require.Equal(t, "1", cp.Position)
	})
}

// slowClaims applies a claim at once and answers it late.
type slowClaims struct {
	*checkpoint.Memory
	answer chan time.Duration
}

func (s *slowClaims) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	d := <-s.answer
	cp, err := s.Memory.Claim(ctx, key, owner)
	time.Sleep(d)
	return cp, err
}

// A claim wrote the whole row and erased the position.
func TestC3_AClaimTouchesOnlyWhatIsItsOwn(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		item, err := p.TrackAt(t.Context(), 7, time.Unix(100, 0), 1)
		require.NoError(t, err)
		item.Ack()
		require.NoError(t, p.Release(t.Context()))
		for range 3 {
			_, resumed, err := checkpoint.Open(t.Context(), b.c, "a", checkpoint.Integer[int]{})
			require.NoError(t, err)
			require.True(t, resumed.OK)
			require.Equal(t, 7, resumed.Position)
			require.True(t, resumed.EventTime.Equal(time.Unix(100, 0)))
		}
		p = b.open(b.c, "a")
		p.Seal() // nothing read in this attempt: the position of the earlier one stands
		<-p.Committed()
		require.Equal(t, "7", b.row("a").Position)
		require.True(t, b.row("a").EventTime.Equal(time.Unix(100, 0)))
	})
}

// A partition was revoked while an ack was on its way, and the old owner
// committed over the new one.
func TestC3_NothingIsSavedOnceAbandonHasReturned(t *testing.T) {
	for _, release := range []bool{false, true} {
		bubble(t, func(b *scene) {
			t := b.T
			b.fail(hung(""))
			p := b.open(b.c, "a")
			tickets := b.track(p, 1, 2)
			tickets[0].Ack()
			time.Sleep(2 * time.Second)
			require.Equal(t, 1, b.saves(), "in flight")
			want := checkpoint.ErrReleased
			if release {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				require.Equal(t, context.DeadlineExceeded, p.Release(ctx))
				cancel()
			} else {
				p.Abandon()
				p.Abandon()
			}
			require.ErrorIs(t, p.Err(), want)
			<-p.Lost()
			require.False(t, tickets[1].Ack())
			b.works()
			before := b.saves()
			require.NoError(t, b.c.Flush(t.Context()), "it owes nothing any more")
			time.Sleep(time.Hour)
			require.Equal(t, before, b.saves())
			require.Equal(t, "", b.row("a").Position)
		}, checkpoint.Interval(time.Second))
	}
}

// A row that was deleted has its fence start again at 1: the claim made then holds,
// and the earlier holder of the same number is lost.
func TestC3_AClaimOfADeletedRowHolds(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		old := b.open(b.c, "a")
		require.NoError(t, b.store.Delete(t.Context(), old.Key()))
		p := b.open(b.c, "a")
		require.ErrorIs(t, old.Err(), checkpoint.ErrFenced)
		require.NoError(t, p.Err())
		b.track(p, 1)[0].Ack()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, "1", b.row("a").Position)
	})
}

// A request that hangs is cut off, whatever its own timeout: whoever gives a
// partition up does not wait for it.
func TestC3_AbandonDoesNotWaitForAHungSave(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(hung(""))
		p := b.open(b.c, "a")
		b.track(p, 1)[0].Ack()
		synctest.Wait()
		require.Equal(t, 1, b.saves(), "in flight")
		began := time.Now()
		p.Abandon()
		require.Zero(t, time.Since(began))
	}, checkpoint.Interval(0), checkpoint.SaveTimeout(time.Hour))
}
