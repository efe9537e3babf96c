package streamreader

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Between the report of a gap and the read behind it the horizon moves on: what
// is trimmed meanwhile must not be lost without a word. Found by the simulation of
// a whole deployment.
func TestS4_HorizonMovesAfterTheReport(t *testing.T) {
	for _, everything := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, streamtest.Config{Seed: 1}, 1)
			w.begin(checkpoint.StartTrimHorizon)
			w.put(1)
			r := w.start(nil)
			w.awaitAll(time.Minute, 1)
			r.drain()
			for range 3 { // versions 2, 3 and 4
				time.Sleep(time.Minute)
				w.put(1)
			}
			if everything {
				w.rotate() // the shard ends with nothing left in it
			}
			require.NoError(t, w.service.Trim(table, 90*time.Second))
			var once sync.Once
			r = w.start(nil, func(c *Config) {
				c.Gap = ContinueOn
				c.Client.(*client).before = func(op string) error {
					w.mu.Lock()
					reported := len(w.gaps) > 0
					w.mu.Unlock()
					if op == "GetRecords" && reported {
						once.Do(func() {
							age := 30 * time.Second
							if everything {
								age = 0
							}
							_ = w.service.Trim(table, age)
						})
					}
					return nil
				}
			})
			time.Sleep(time.Minute)
			r.crash()
			require.Equal(t, everything, !w.got("k0#4"))
			require.False(t, w.got("k0#3"))
			last := w.gaps[len(w.gaps)-1]
			if everything {
				require.True(t, last.Before.IsZero() || last.Gone, "version 3 and 4 are gone too: %v", w.gaps)
			} else {
				require.Equal(t, w.service.Shards(table)[0].First, last.Before.String(), "version 3 is gone too: %v", w.gaps)
			}
		})
	}
}

// Where the look for a gap's other end failed, the read behind the gap tells it.
func TestS4_AnEndThatWasNotFoundIsReportedByTheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 1}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(1)
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		r.drain()
		for range 3 {
			time.Sleep(time.Minute)
			w.put(1)
		}
		require.NoError(t, w.service.Trim(table, 90*time.Second))
		asked := 0
		r = w.start(nil, func(c *Config) {
			c.Gap = ContinueOn
			c.Client.(*client).before = func(op string) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if op == "GetShardIterator" && len(w.gaps) == 0 {
					if asked++; asked == 2 { // the first was the shard's own
						return errors.New("cut")
					}
				}
				return nil
			}
		})
		time.Sleep(time.Minute)
		r.crash()
		require.Len(t, w.gaps, 2, "%v", w.gaps)
		require.True(t, w.gaps[0].Before.IsZero(), "%v", w.gaps)
		require.Equal(t, w.service.Shards(table)[0].First, w.gaps[1].Before.String(), "%v", w.gaps)
	})
}

// worldOfAnEmptyParent is a shard and its child, both closed and never read: the
// parent's record is gone, the parent and the child's record are about to go.
func worldOfAnEmptyParent(t *testing.T) *world {
	w := newWorld(t, streamtest.Config{Seed: 1}, 1)
	w.begin(checkpoint.StartTrimHorizon)
	w.put(1)
	time.Sleep(4 * time.Hour)
	w.rotate()
	time.Sleep(time.Minute)
	w.put(1) // version 2, in the child
	time.Sleep(time.Hour)
	w.rotate()
	time.Sleep(23*time.Hour - time.Minute - 30*time.Second)
	return w
}

// requireGapOf demands that what was trimmed of the shard, version 2, was reported.
func requireGapOf(t *testing.T, w *world, shard string) {
	t.Helper()
	require.True(t, slices.ContainsFunc(w.gaps, func(g shards.Gap) bool { return g.Shard == shard }),
		"version 2 was lost without a word: %v", w.gaps)
}

// A closed shard of which nothing is left says nothing of its children's age:
// what they lose while they wait for their turn is reported.
func TestS4_ChildOfShardThatWasTrimmedEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldOfAnEmptyParent(t)
		first := w.service.Shards(table)[0].ID
		r := w.start(nil, func(c *Config) {
			c.Gap = ContinueOn
			c.Client.(*client).before = func(op string) error {
				if op == "DescribeStream" {
					return nil
				}
				for id, row := range w.rows() {
					if row.Complete && id[len(id)-len(first):] == first {
						// Between the end of the parent and the first call to the child.
						time.Sleep(time.Until(w.origin.Time.Add(28*time.Hour + 2*time.Minute)))
					}
				}
				return nil
			}
		})
		time.Sleep(10 * time.Minute)
		r.crash()
		require.False(t, w.got("k0#2"), "the child's record was trimmed")
		requireGapOf(t, w, w.service.Shards(table)[0].ID)
	})
}

// The same after a crash: the row of the empty parent says how old its children
// may be, not when it was completed.
func TestS4_RowOfShardThatWasTrimmedEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldOfAnEmptyParent(t)
		// The parent is found empty; the child is handed out, and the process dies.
		r := w.start(func(Batch, func(context.Context, error) error) {}, func(c *Config) { c.Gap = ContinueOn })
		time.Sleep(20 * time.Second)
		r.crash()
		w.gaps = nil
		time.Sleep(10 * time.Minute) // version 2 is trimmed
		child := w.service.Shards(table)[0].ID
		r = w.start(nil, func(c *Config) { c.Gap = ContinueOn })
		time.Sleep(time.Minute)
		r.crash()
		requireGapOf(t, w, child)
	})
}

// A shard that is gone, and whose record no position rests on, says nothing of its
// children's age by being completed: what they lose while they are not acked is
// reported after a restart too. Found by the simulation of a whole deployment.
func TestS4_ChildOfShardThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unacked := func(Batch, func(context.Context, error) error) {}
		w := newWorld(t, streamtest.Config{Seed: 1}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		first := w.service.Shards(table)[0].ID
		w.put(1)
		r := w.start(unacked)
		time.Sleep(20 * time.Second)
		r.crash() // the row stands, without a position
		time.Sleep(4 * time.Hour)
		w.rotate()
		time.Sleep(time.Minute)
		w.put(1) // version 2, in the child
		time.Sleep(time.Hour)
		w.rotate()
		time.Sleep(23*time.Hour - time.Minute + 10*time.Second) // the parent is gone, version 2 is not

		r = w.start(unacked, func(c *Config) { c.Gap = ContinueOn })
		w.await(40*time.Second, "the parent is given up", func() bool {
			return w.rows()[r.reader.prefix+first].Complete
		})
		time.Sleep(5 * time.Second)
		r.crash()
		w.gaps = nil
		time.Sleep(10 * time.Minute) // version 2 is trimmed
		require.NotEqual(t, first, w.service.Shards(table)[0].ID)
		child := w.service.Shards(table)[0].ID
		r = w.start(nil, func(c *Config) { c.Gap = ContinueOn })
		time.Sleep(time.Minute)
		r.crash()
		requireGapOf(t, w, child)
	})
}

// The row of a shard with nothing read is no position: whoever finds it before its
// completion reads the shard from where it begins.
func TestARowOfNothingReadIsNoPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 1}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(3)
		cfg := w.config()
		part, _, err := checkpoint.Open(t.Context(), cfg.Committer, "stream/"+label(cfg.StreamARN)+"/"+w.service.Shards(table)[0].ID, sequenceCodec{})
		require.NoError(t, err)
		ticket, err := part.TrackAt(t.Context(), position{created: time.Now()}, time.Now(), 1)
		require.NoError(t, err)
		ticket.Discard()
		require.NoError(t, part.Release(t.Context()))
		require.NoError(t, cfg.Committer.Close(t.Context()))
		for _, row := range w.rows() {
			require.Equal(t, nothingRead, row.Position)
		}
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		require.Equal(t, "TRIM_HORIZON", w.asked()[0])
		r.drain()
	})
}
