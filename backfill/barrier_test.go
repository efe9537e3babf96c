package backfill

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

func TestB2_HandoffWaitsForEveryBatchAndSegment(t *testing.T) {
	t.Run("simulated", func(t *testing.T) { checkSim(t, nil) })
	t.Run("restart while the last batch is being consumed", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(8)
			hooks := 0
			hook := func(_ *Config, src *source) {
				src.hook = func(context.Context, Summary) error { hooks++; return nil }
			}
			first := newRig(t, s, hook)
			batches := first.scanAll()
			ackAll(t, batches[:len(batches)-1])
			time.Sleep(time.Second) // everything settled is durable
			first.end()
			require.Zero(t, hooks)

			second := newRig(t, s, hook)
			again := second.next()
			require.Equal(t, batches[len(batches)-1].rows, again.rows)
			require.Equal(t, Backfilling, second.r.Phase())
			again.deliver(t)
			second.scanAllAcked()
			require.Equal(t, 1, hooks)
			second.end()
		})
	})
	t.Run("a segment that the source did not seal", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(4), func(_ *Config, src *source) {
				src.onRead = func(Phase) {
					if len(src.sealed) == 2 {
						src.sealed[1] = true // says so without sealing it
					}
				}
			})
			r.next().deliver(t)
			err := r.nextErr(time.Hour)
			require.ErrorIs(t, err, ErrIncomplete)
			require.ErrorContains(t, err, "backfill/1/segment/1-of-2")
			r.end()
		})
	})
	t.Run("a store that is down holds the barrier, reported", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var stalls []Stall
			r := newRig(t, calm(4), func(c *Config, _ *source) {
				c.Hooks.Stalled = func(s Stall) { stalls = append(stalls, s) }
			})
			batches := r.scanAll()
			var down atomic.Bool
			down.Store(true)
			r.store.failOp = func(op string) error {
				if down.Load() && strings.HasPrefix(op, "Save") {
					return errors.New("test: down")
				}
				return nil
			}
			ackAll(t, batches)
			require.ErrorIs(t, r.nextErr(5*time.Minute), context.DeadlineExceeded)
			require.Equal(t, Settling, r.r.Phase())
			require.NotEmpty(t, stalls)
			require.Error(t, stalls[0].LastErr)
			down.Store(false)
			require.ErrorIs(t, r.nextErr(5*time.Minute), context.DeadlineExceeded)
			require.Equal(t, Streaming, r.r.Phase())
			r.end()
		})
	})
	t.Run("without segments it is what the committer holds that has to be durable", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(4), func(_ *Config, src *source) { src.noSegment = true })
			h := r.next()
			own, _, err := checkpoint.Open(bg, r.c, "own/rows", checkpoint.Integer[int]{})
			require.NoError(t, err)
			ticket, err := own.Track(bg, 1, 1)
			require.NoError(t, err)
			var down atomic.Bool
			down.Store(true)
			r.store.failOp = func(op string) error {
				if down.Load() && op == "Save own/rows" {
					return errors.New("test: down")
				}
				return nil
			}
			require.NoError(t, own.Ack(bg, ticket))
			h.deliver(t)
			require.ErrorIs(t, r.nextErr(5*time.Minute), context.DeadlineExceeded)
			require.Equal(t, Settling, r.r.Phase())
			down.Store(false)
			require.ErrorIs(t, r.nextErr(5*time.Minute), context.DeadlineExceeded)
			require.Equal(t, Streaming, r.r.Phase())
		})
	})
	t.Run("an empty backfill completes too", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hooks := 0
			r := newRig(t, calm(0), func(_ *Config, src *source) {
				src.hook = func(context.Context, Summary) error { hooks++; return nil }
			})
			r.w.write(5)
			r.scanAllAcked() // the write came before the plan's anchor
			require.Equal(t, 1, hooks)
			r.end()
		})
	})
}

func TestB5_BarrierNeverHoldsAShutdown(t *testing.T) {
	ends := map[string]struct {
		end  func(r *rig, cancel context.CancelFunc)
		want error
	}{
		"the context": {func(_ *rig, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"Stop":        {func(r *rig, _ context.CancelFunc) { r.r.Stop() }, ErrStopped},
		"Abort":       {func(r *rig, _ context.CancelFunc) { r.r.Abort() }, ErrStopped},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := calm(6)
				r := newRig(t, s)
				batches := r.scanAll()
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				time.AfterFunc(700*time.Millisecond, func() { c.end(r, cancel) })
				began := time.Now()
				_, _, err := r.read(ctx)
				require.Equal(t, c.want, err, "raw, not wrapped")
				require.Equal(t, 700*time.Millisecond, time.Since(began))
				require.Equal(t, Settling, r.r.Phase())
				if name != "Abort" {
					ackAll(t, batches) // in flight when it stopped: still counted
				}
				r.close()
				require.NoError(t, r.c.Close(bg))
				require.Equal(t, 1, r.src.closed)
				if name != "Abort" {
					require.Equal(t, 2, r.rows().Complete)
				}
				again := newRig(t, s)
				again.scanAllAcked()
				again.end()
			})
		})
	}
	t.Run("Close waits for what is in flight, not for what was refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(8))
			a, b := r.next(), r.next()
			require.NoError(t, a.ack(bg, errors.New("test: refused")))
			time.AfterFunc(time.Minute, func() { _ = b.ack(bg, nil) })
			began := time.Now()
			r.close()
			require.Equal(t, time.Minute, time.Since(began))
			r.close() // again: does nothing
			require.Equal(t, 1, r.src.closed)
			_ = r.c.Close(bg)
		})
	})
	t.Run("Close gives up with its context", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(8))
			h := r.next()
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			require.Equal(t, context.DeadlineExceeded, r.r.Close(ctx))
			require.ErrorIs(t, h.ack(bg, nil), ErrAttemptOver)
			_ = r.c.Close(bg)
		})
	})
	t.Run("stalls are reported while the scan goes on", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			began := time.Now()
			var at []time.Duration
			r := newRig(t, calm(40), func(c *Config, _ *source) {
				c.Hooks.Stalled = func(s Stall) {
					require.Equal(t, Backfilling, s.Phase)
					at = append(at, time.Since(began))
				}
			})
			for range 9 {
				r.next()
				time.Sleep(10 * time.Second)
			}
			require.Equal(t, []time.Duration{30 * time.Second, time.Minute}, at)
		})
	})
	t.Run("stalls are reported with growing pauses and what is stuck", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			began := time.Now()
			var at []time.Duration
			var last Stall
			r := newRig(t, calm(6), func(c *Config, _ *source) {
				c.StallAfter = 10 * time.Second
				c.Flush = func(context.Context) error { return nil }
				c.Hooks.Stalled = func(s Stall) { at, last = append(at, time.Since(began)), s }
			})
			var batches []*handed
			for {
				b, ack, err := r.readFor(time.Second)
				if err != nil {
					break
				}
				batches = append(batches, &handed{page: b, ack: ack})
			}
			lists := 0
			r.store.failOp = func(op string) error {
				if op == "List "+rowPrefix {
					lists++
				}
				return nil
			}
			require.NoError(t, batches[0].ack(bg, errors.New("test: refused")))
			require.ErrorIs(t, r.nextErr(170*time.Second), context.DeadlineExceeded)
			require.Equal(t, 5, lists, "the store is asked who is the newest with every report, and not more often")
			require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}, at)
			require.Equal(t, batches[0].BatchName(), last.Oldest)
			require.Equal(t, 160*time.Second, last.Age)
			require.Equal(t, Settling, last.Phase)
			require.Equal(t, len(batches), last.Outstanding)
			require.Equal(t, 1, last.Nacks)
			require.EqualError(t, last.LastErr, "test: refused")
			r.end()
		})
	})
}
