package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/tracker"
)

// Each of these stands for a fault that was found in a public system, told in
// its own words.

var quiet = slog.New(slog.DiscardHandler)

type ticket = tracker.Ticket[checkpoint.At[int]]

// scene is one committer over a store whose faults the test commands.
type scene struct {
	*testing.T
	memory *checkpoint.Memory
	faults atomic.Pointer[storetest.Plan] // nil: none
	store  *storetest.Faulty
	c      *checkpoint.Committer
}

func bubble(t *testing.T, run func(*scene), opts ...checkpoint.Option) {
	synctest.Test(t, func(t *testing.T) {
		b := &scene{T: t, memory: checkpoint.NewMemory()}
		b.store = storetest.NewFaulty(b.memory, func(c storetest.Call) storetest.Fault {
			if plan := b.faults.Load(); plan != nil {
				return (*plan)(c)
			}
			return storetest.Fault{}
		})
		b.c = b.committer(opts...)
		t.Cleanup(func() { // in the bubble, and also after a failure
			b.works()
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_ = b.c.Close(ctx)
			b.store.Settle()
		})
		run(b)
	})
}

func (b *scene) fail(plan storetest.Plan) { b.faults.Store(&plan) }
func (b *scene) works()                   { b.faults.Store(nil) }

func (b *scene) committer(opts ...checkpoint.Option) *checkpoint.Committer {
	opts = append([]checkpoint.Option{checkpoint.Logger(quiet)}, opts...)
	return checkpoint.NewCommitter(b.store, "orders", opts...)
}

func (b *scene) open(c *checkpoint.Committer, name string) *checkpoint.Partition[int] {
	b.Helper()
	p, _, err := checkpoint.Open(b.Context(), c, name, checkpoint.Integer[int]{})
	require.NoError(b, err)
	return p
}

func (b *scene) track(p *checkpoint.Partition[int], positions ...int) (tickets []ticket) {
	b.Helper()
	for _, pos := range positions {
		t, err := p.Track(b.Context(), pos, 1)
		require.NoError(b, err)
		tickets = append(tickets, t)
	}
	return tickets
}

func (b *scene) row(name string) checkpoint.Checkpoint {
	b.Helper()
	cp, err := b.memory.Load(b.Context(), checkpoint.Key{Pipeline: "orders", Partition: name})
	require.NoError(b, err)
	return cp
}

func (b *scene) saves() int { return b.store.Calls(storetest.OpSave) }

// hung makes every save of one partition hang.
func hung(name string) func(storetest.Call) storetest.Fault {
	return func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpSave && (name == "" || c.Key.Partition == name) {
			return storetest.Fault{Kind: storetest.Hung}
		}
		return storetest.Fault{}
	}
}

func always(k storetest.Kind) func(storetest.Call) storetest.Fault {
	return func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpSave {
			return storetest.Fault{Kind: k}
		}
		return storetest.Fault{}
	}
}

// A partition with few records was never saved, because saving counted records.
func TestC1_AQuietPartitionIsSavedByTimeByWeightByCompletionAndAtShutdown(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2, 3, 4, 5, 6)
		tickets[0].Ack()
		synctest.Wait()
		require.Equal(t, "", b.row("a").Position, "not before the interval")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "1", b.row("a").Position)

		tickets[1].Ack()
		tickets[2].Ack()
		tickets[3].Ack()
		synctest.Wait() // no time passes
		require.Equal(t, "4", b.row("a").Position, "by weight")

		p.Seal()
		tickets[5].Ack()
		synctest.Wait()
		require.Equal(t, "4", b.row("a").Position)
		tickets[4].Ack()
		synctest.Wait()
		require.Equal(t, "6", b.row("a").Position, "completion waits for no interval")
		require.True(t, b.row("a").Complete)

		q := b.open(b.c, "b")
		b.track(q, 1)[0].Ack()
		require.NoError(t, b.c.Close(t.Context()))
		require.Equal(t, "1", b.row("b").Position, "at shutdown")
	}, checkpoint.Interval(time.Minute), checkpoint.EveryWeight(3))
}

// However many acks an interval sees, it costs one write; and none at all while
// a stuck record pins the frontier.
func TestC7_OneWriteAnIntervalAndNoneWithoutProgress(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		const seconds, perSecond = 50, 100
		for i := range seconds * perSecond {
			b.track(p, i)[0].Ack()
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(5 * time.Second)
		require.LessOrEqual(t, b.saves(), seconds/5+1)
		require.GreaterOrEqual(t, b.saves(), seconds/5-1)
		require.Equal(t, "4999", b.row("a").Position)

		before := b.saves()
		stuck := b.track(p, 5000)
		for i := range 1000 {
			b.track(p, 5001+i)[0].Ack()
			time.Sleep(time.Second)
		}
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, before, b.saves(), "the frontier did not move")
		stuck[0].Ack()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, before+1, b.saves())
		require.Equal(t, "6000", b.row("a").Position)
		require.EqualValues(t, b.saves(), b.row("a").Revision, "one request for each commit")
	}, checkpoint.Interval(5*time.Second))
}

// The write of one partition hung for ever, and all others waited behind it.
func TestC7_AHungWriteHoldsUpItsPartitionOnly(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(hung("stuck"))
		for _, name := range []string{"stuck", "a", "b"} {
			b.track(b.open(b.c, name), 1)[0].Ack()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "1", b.row("a").Position)
		require.Equal(t, "1", b.row("b").Position)
		require.Equal(t, "", b.row("stuck").Position)
		b.works()
		time.Sleep(checkpoint.DefaultSaveTimeout + time.Second)
		synctest.Wait()
		require.Equal(t, "1", b.row("stuck").Position, "the hung request ends, and is repeated")
	}, checkpoint.Interval(time.Second), checkpoint.Parallel(2))
}

// The store is never asked for more than Parallel saves at once.
func TestC7_NoMoreThanParallelSaves(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSave {
				return storetest.Fault{Delay: time.Second}
			}
			return storetest.Fault{}
		})
		for i := range 20 {
			b.track(b.open(b.c, fmt.Sprint(i)), 1)[0].Ack()
		}
		began := time.Now()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, 7*time.Second, time.Since(began), "20 saves of a second each, 3 at a time")
	}, checkpoint.Parallel(3))
}

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

// The hardest line: the completion's write fails, and no further ack will ever
// come that could try again.
func TestC5_TheLastWriteFailsAndNoAckWillEverCome(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.Throttled, storetest.Hung, storetest.Lost, storetest.Late} {
		bubble(t, func(b *scene) {
			t := b.T
			b.fail(func(c storetest.Call) storetest.Fault {
				if c.Op == storetest.OpSave {
					return storetest.Fault{Kind: kind, After: time.Hour}
				}
				return storetest.Fault{}
			})
			p := b.open(b.c, "a")
			tickets := b.track(p, 1)
			p.Seal()
			tickets[0].Ack()
			<-p.Settled()
			short, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := b.c.Drain(short)
			cancel()
			require.Error(t, err, "settled is not durable")
			select {
			case <-p.Committed():
				t.Fatal("committed, and the store never said so")
			default:
			}
			b.works()
			<-p.Committed() // by itself
			require.True(t, b.row("a").Complete)
			require.Equal(t, "1", b.row("a").Position)
			require.NoError(t, b.c.Drain(t.Context()))
		})
	}
}

// A write that timed out arrived minutes later and stepped the row back.
func TestC2_AWriteThatArrivesLateChangesNothing(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSave && c.N == 1 {
				return storetest.Fault{Kind: storetest.Late, After: time.Hour}
			}
			return storetest.Fault{}
		})
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2)
		tickets[0].Ack()
		require.NoError(t, b.c.Flush(t.Context()))
		tickets[1].Ack()
		require.NoError(t, b.c.Flush(t.Context()))
		time.Sleep(2 * time.Hour)
		require.Equal(t, "2", b.row("a").Position)
		require.NoError(t, p.Err())
	})
}

// The answer of a write was lost; its repetition met its own row, and took it
// for a thief's.
func TestC2_RepeatingOnesOwnWriteIsNoTheft(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSave && c.N <= 3 {
				return storetest.Fault{Kind: storetest.Lost}
			}
			return storetest.Fault{}
		})
		p := b.open(b.c, "a")
		b.track(p, 1)[0].Ack()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, 4, b.saves())
		require.EqualValues(t, 1, b.row("a").Revision)
		require.NoError(t, p.Err())
	})
}

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

// After a reconnect nothing was persisted any more: what had been persisted was
// remembered from the attempt before.
func TestC5_ANewAttemptPersistsAfresh(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		for attempt := range 5 {
			p := b.open(b.c, "a")
			b.track(p, attempt+1)[0].Ack()
			require.NoError(t, b.c.Flush(t.Context()))
			require.Equal(t, fmt.Sprint(attempt+1), b.row("a").Position)
		}
	})
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

// The source was told "done" before the position was durable.
func TestC5_TheSourceIsToldAfterTheSave(t *testing.T) {
	var b *scene
	var told []string
	hooks := checkpoint.Hooks{Committed: func(cp checkpoint.Checkpoint) {
		require.Equal(b, b.row("a"), cp, "durable first")
		time.Sleep(time.Minute) // a slow source
		told = append(told, cp.Position)
	}}
	bubble(t, func(inner *scene) {
		b = inner
		t := b.T
		b.fail(func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSave && c.N%2 == 1 {
				return storetest.Fault{Kind: storetest.Kind(1 + c.N%4), After: time.Second}
			}
			return storetest.Fault{}
		})
		p := b.open(b.c, "a")
		for i := range 5 {
			b.track(p, i)[0].Ack()
			require.NoError(t, b.c.Flush(t.Context()))
			require.Equal(t, fmt.Sprint(i), told[len(told)-1], "Flush waits for the hook")
		}
		require.Equal(t, []string{"0", "1", "2", "3", "4"}, told)

		b.works()
		b.track(p, 5)[0].Ack()
		time.Sleep(checkpoint.DefaultInterval + time.Second)
		require.Equal(t, "5", b.row("a").Position)
		require.NoError(t, b.c.Flush(t.Context()), "durable already, but the source does not know")
		require.Equal(t, "5", told[len(told)-1])
	}, checkpoint.WithHooks(hooks), checkpoint.SaveTimeout(time.Second))
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

// A failing store is asked less and less often, not once for each ack.
func TestC5_AcksDoNotShortenTheBackoff(t *testing.T) {
	var tries []int
	hooks := checkpoint.Hooks{CommitFailed: func(_ checkpoint.Key, err error, n int) {
		if !errors.Is(err, storetest.ErrThrottled) {
			n = -1
		}
		tries = append(tries, n)
	}}
	var log bytes.Buffer
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(always(storetest.Throttled))
		p := b.open(b.c, "a")
		for i := range 6000 {
			b.track(p, i)[0].Ack()
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, b.saves(), 60, "ten minutes at pauses of up to 30 s")
		require.Greater(t, b.saves(), 20)
		for i, n := range tries {
			require.Equal(t, i+1, n)
		}
		stats := b.c.Stats()
		require.Len(t, stats, 1)
		require.ErrorIs(t, stats[0].LastError, storetest.ErrThrottled)
		require.Equal(t, len(tries), stats[0].Tries)
		require.True(t, stats[0].Dirty)
		require.Equal(t, "5999", stats[0].Position)
		require.Equal(t, "", stats[0].Durable)

		b.works()
		began := time.Now()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Zero(t, time.Since(began), "Flush does not wait for the backoff")
		require.Equal(t, "5999", b.row("a").Position)
		warnings := strings.Count(log.String(), "level=WARN")
		require.Greater(t, warnings, 2, "it is reported")
		require.Less(t, warnings, 10, "with growing pauses")
	}, checkpoint.WithHooks(hooks), checkpoint.EveryWeight(2),
		checkpoint.Logger(slog.New(slog.NewTextHandler(&log, nil))))
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

// Stats says what is stuck, since when, and why.
func TestStats_NameTheStuckItem(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		q := b.open(b.c, "b")
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2, 3)
		tickets[0].Ack()
		tickets[2].Ack()
		tickets[1].Nack(errors.New("rejected"))
		b.c.Stats()
		time.Sleep(time.Minute)
		stats := b.c.Stats()
		require.Len(t, stats, 2)
		require.Equal(t, q.Key(), stats[1].Key)
		require.Zero(t, stats[1].OldestAge)
		s := stats[0]
		require.Equal(t, "1", s.Position)
		require.Equal(t, "1", s.Durable)
		require.False(t, s.Dirty)
		require.Equal(t, 1, s.Outstanding)
		require.Equal(t, time.Minute, s.OldestAge)
		require.True(t, s.OldestNacked)
		tickets[1].Discard()
		require.Zero(t, b.c.Stats()[0].OldestAge)
		require.Equal(t, "3", b.c.Stats()[0].Position)
		require.True(t, b.c.Stats()[0].Dirty)
		p.Seal()
		<-p.Committed()
		require.Len(t, b.c.Stats(), 1)
	})
}

// A store that cannot be read, or a table that is missing, was taken for
// "nothing there yet".
func TestC8_AnUnreadableStoreIsNoFreshStart(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(func(storetest.Call) storetest.Fault { return storetest.Fault{Kind: storetest.Throttled} })
		_, _, err := checkpoint.Open(t.Context(), b.c, "a", checkpoint.Integer[int]{})
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.ErrorContains(t, err, "orders/a")
		_, fresh, err := checkpoint.Begin(t.Context(), b.store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.False(t, fresh.Use())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = checkpoint.Open(ctx, b.c, "a", checkpoint.Integer[int]{})
		require.Equal(t, context.Canceled, err, "cancellation comes back raw")
	})
}

// Draining waits for items that carry no position as well.
func TestC6_DrainWaitsForHeldItems(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		p := b.open(b.c, "a")
		b.track(p, 1)[0].Ack()
		held, err := p.TrackHold(t.Context(), 1)
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { held.Ack() })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, b.c.Drain(ctx))
		require.Equal(t, time.Minute, time.Since(began))
	})
}
