package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

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

// The end of a partition lets its successor begin, so it waits for no interval.
func TestC4_CompletionIsSavedAtOnce(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2, 3)
		tickets[0].Ack() // noted: its save is due in an hour
		p.Seal()
		tickets[2].Ack()
		tickets[1].Ack()
		began := time.Now()
		<-p.Committed()
		require.Zero(b, time.Since(began))
		require.Equal(b, 1, b.saves())
		require.Equal(b, "3", b.row("a").Position)
	}, checkpoint.Interval(time.Hour))
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
		b.fail(onSave("", storetest.Fault{Delay: time.Second}))
		for i := range 20 {
			b.track(b.open(b.c, fmt.Sprint(i)), 1)[0].Ack()
		}
		began := time.Now()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, 7*time.Second, time.Since(began), "20 saves of a second each, 3 at a time")
	}, checkpoint.Parallel(3))
}

// The weight that makes a save due is counted from the last save, not from the start.
func TestC7_EveryWeightSavesOncePerWeight(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		for i := range 100 {
			b.track(p, i)[0].Ack()
			synctest.Wait()
			require.Equal(b, (i+1)/10, b.saves())
		}
	}, checkpoint.Interval(time.Hour), checkpoint.EveryWeight(10))
}

// What is due at once and waits for its turn is not put off by a later ack.
func TestC7_AnAckDoesNotPutASaveOff(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(hung("stuck"))
		stuck := b.open(b.c, "stuck")
		for _, item := range b.track(stuck, 1, 2) {
			item.Ack()
		}
		synctest.Wait() // it hangs in the only place
		p := b.open(b.c, "a")
		for pos, weight := range []int64{2, 1} { // the first makes it due
			item, err := p.Track(t.Context(), pos, weight)
			require.NoError(t, err)
			item.Ack()
		}
		synctest.Wait()
		require.Equal(t, "", b.row("a").Position)
		stuck.Abandon()
		synctest.Wait()
		require.Equal(t, "1", b.row("a").Position)
	}, checkpoint.Interval(time.Hour), checkpoint.EveryWeight(2), checkpoint.Parallel(1), checkpoint.SaveTimeout(24*time.Hour))
}

// The hardest line: the completion's write fails, and no further ack will ever
// come that could try again.
func TestC5_TheLastWriteFailsAndNoAckWillEverCome(t *testing.T) {
	for _, kind := range []storetest.Kind{storetest.Throttled, storetest.Hung, storetest.Lost, storetest.Late} {
		bubble(t, func(b *scene) {
			t := b.T
			b.fail(onSave("", storetest.Fault{Kind: kind, After: time.Hour}))
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
