package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

// everyCrash runs one fixed pipeline again and again, dying at its first, second,
// third … store operation, before and after it took effect, until it does not
// die any more; each time the next attempts bring it to its end.
func everyCrash(t *testing.T, seed int, setUp func(*sim)) (crashes int) {
	t.Helper()
	for n := 0; ; n++ {
		died := false
		for _, after := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				turn := seed
				s := newSim(func(n int) int { turn++; return (turn * 7919 >> 3) % n }, 7)
				if setUp != nil {
					setUp(s)
				}
				a := s.begin(n, after)
				for range 150 {
					if !a.step() {
						break
					}
				}
				died = died || a.store.isDead()
				a.die()
				s.checkDurable()
				s.settleDown()
				lost, stale := s.verify()
				require.Empty(t, s.faults, "operation %d, after %v", n, after)
				require.Zero(t, lost+stale, "operation %d, after %v", n, after)
			})
		}
		if !died {
			return n
		}
	}
}

func TestB1_PlanIsDurableBeforeTheFirstRead(t *testing.T) {
	t.Run("crash at every operation", func(t *testing.T) {
		require.Greater(t, everyCrash(t, 1, nil), 10)
	})
	t.Run("an error of the store is no plan", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(3))
			r.store.failOp = func(op string) error {
				if strings.HasPrefix(op, "Save backfill/1/plan") {
					return errors.New("test: throttled")
				}
				return nil
			}
			require.ErrorContains(t, r.nextErr(time.Second), "throttled")
			require.Equal(t, Fresh, r.r.Phase())
			r.store.failOp = nil
			r.next() // nothing is remembered of the failure
			require.Equal(t, "0", r.rows().Plan.Anchor)
			r.end()
		})
	})
	t.Run("the persisted anchor is the one that counts", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(3)
			first := newRig(t, s)
			first.next()
			first.end()
			s.w.write(1)
			second := newRig(t, s)
			second.scanAllAcked()
			require.Equal(t, []change{{1, 2}}, second.next().rows, "the stream starts at the first attempt's anchor")
			second.end()
		})
	})
}

// scanAllAcked reads and acks the whole backfill, until its hook has run.
func (r *rig) scanAllAcked() {
	r.t.Helper()
	for r.r.Phase() != Streaming {
		b, ack, err := r.readFor(time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		require.NoError(r.t, err)
		if b.half == Streaming { // one too many: for the next read
			read := r.read
			r.read = func(context.Context) (page, AckFunc, error) { r.read = read; return b, ack, nil }
			break
		}
		require.NoError(r.t, ack(bg, nil))
	}
}

func (r *rig) readFor(d time.Duration) (page, AckFunc, error) {
	ctx, cancel := context.WithTimeout(bg, d)
	defer cancel()
	return r.read(ctx)
}

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

func TestB3_NackIsNeverDelivery(t *testing.T) {
	refused := errors.New("test: refused")
	for _, half := range []Phase{Backfilling, Streaming} {
		in := func(t *testing.T, policy NackPolicy, sum *Summary) (*rig, *handed) {
			s := calm(1)
			r := newRig(t, s, func(c *Config, src *source) {
				c.Nack = policy
				src.hook = func(_ context.Context, got Summary) error { *sum = got; return nil }
			})
			if half == Streaming {
				r.scanAllAcked()
				s.w.write(0)
			}
			return r, r.next()
		}
		t.Run(fmt.Sprintf("pin in %s", half), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var sum Summary
				r, h := in(t, Pin, &sum)
				require.NoError(t, h.ack(bg, refused))
				if half == Backfilling {
					require.ErrorIs(t, r.nextErr(time.Second), ErrFlush)
				}
				time.Sleep(time.Hour)
				_ = r.nextErr(time.Nanosecond) // nothing comes
				require.Equal(t, 1, r.halfStats(half).Outstanding)
				require.Equal(t, time.Hour, r.halfStats(half).OldestAge.Truncate(time.Hour))
				h.deliver(t) // delivered after all
				require.Zero(t, r.halfStats(half).Outstanding)
				r.end()
			})
		})
		t.Run(fmt.Sprintf("fail in %s", half), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var sum Summary
				r, h := in(t, Fail, &sum)
				require.NoError(t, h.ack(bg, refused))
				err := r.nextErr(time.Second)
				require.ErrorIs(t, err, ErrNacked)
				require.ErrorIs(t, err, refused)
				var named *NackedError
				require.ErrorAs(t, err, &named)
				require.Equal(t, h.BatchName(), named.Batch)
				require.Equal(t, half, named.Phase)
				require.ErrorIs(t, r.nextErr(time.Second), ErrNacked, "it ends the attempt")
				r.end()
				// and only the attempt
				again := newRig(t, r.sim)
				require.Equal(t, h.rows, again.next().rows)
				again.end()
			})
		})
		t.Run(fmt.Sprintf("discard in %s", half), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var sum Summary
				r, h := in(t, DiscardNacked, &sum)
				require.NoError(t, h.ack(bg, refused))
				require.ErrorIs(t, h.ack(bg, nil), ErrStale)
				_ = r.nextErr(time.Second)
				require.Equal(t, Streaming, r.r.Phase())
				require.EqualValues(t, 1, r.halfStats(half).Discarded)
				if half == Backfilling {
					require.EqualValues(t, 1, sum.Discarded)
					require.Zero(t, sum.Delivered)
				}
				r.end()
			})
		})
		t.Run(fmt.Sprintf("discarded by hand in %s", half), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var sum Summary
				r, h := in(t, Pin, &sum)
				require.NoError(t, h.ack(bg, refused))
				require.NoError(t, h.ack(bg, fmt.Errorf("to the dead letters: %w", Discard(refused))))
				_ = r.nextErr(time.Second)
				require.Equal(t, Streaming, r.r.Phase())
				require.EqualValues(t, 1, r.halfStats(half).Discarded)
				r.end()
			})
		})
	}
	t.Run("a discard is known to the hook of a later attempt", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(8)
			first := newRig(t, s)
			b := first.next()
			require.NoError(t, b.ack(bg, Discard(refused)))
			first.end() // nothing was flushed
			var sum Summary
			second := newRig(t, s, func(_ *Config, src *source) {
				src.hook = func(_ context.Context, got Summary) error { sum = got; return nil }
			})
			second.scanAllAcked()
			require.EqualValues(t, 1, sum.Discarded)
			require.NotZero(t, sum.Delivered)
			second.end()
		})
	})
	t.Run("a discard that cannot be counted is not settled", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(1))
			h := r.next()
			r.store.failOp = func(string) error { return errors.New("test: down") }
			require.ErrorContains(t, h.ack(bg, Discard(nil)), "down")
			require.Equal(t, 1, r.r.Stats().Backfill.Outstanding)
			r.store.failOp = nil
			require.NoError(t, h.ack(bg, Discard(nil)))
			r.end()
		})
	})
	for _, policy := range []NackPolicy{Pin, DiscardNacked} {
		t.Run(fmt.Sprintf("simulated with policy %d", policy), func(t *testing.T) {
			checkSim(t, func(_ *rapid.T, s *sim) { s.cfg.Nack = policy })
		})
	}
}

func (r *rig) halfStats(half Phase) HalfStats {
	if half == Backfilling {
		return r.r.Stats().Backfill
	}
	return r.r.Stats().Stream
}

// Several attempts of one pipeline live side by side, as after reconnects that
// did not end what was before: their late reads, acks and nacks, in any order,
// never make anything durable that was not delivered, and never hold the newest.
func TestB4_OlderAttemptsNeitherWedgeNorAdvance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }
			s := newSim(pick, 1+pick(8))
			s.keepZombies = true
			s.redeliver = pick(2) == 0
			live := []*attempt{s.begin(-1, false)}
			for range rapid.IntRange(10, 150).Draw(rt, "steps") {
				if len(live) < 4 && pick(20) == 0 {
					live = append(live, s.begin(-1, false))
				}
				live[pick(len(live))].step() // also when it is over: its acks come late
				s.checkDurable()
			}
			s.settleDown() // with the others still alive
			for _, a := range live {
				for range 5 {
					a.deliverOne()
				}
				s.checkDurable()
				a.die()
			}
			require.Empty(rt, s.faults)
			lost, _ := s.verify() // zombies write what they like, when they like
			require.Zero(rt, lost)
		})
	})
}

func TestB4_NamedCases(t *testing.T) {
	t.Run("acks after the end change nothing and say so", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(4))
			h := r.next()
			r.r.Abort()
			require.ErrorIs(t, h.ack(bg, nil), ErrAttemptOver)
			require.ErrorIs(t, h.ack(bg, errors.New("no")), ErrAttemptOver)
			require.ErrorIs(t, r.nextErr(time.Second), ErrStopped)
			r.end()
		})
	})
	t.Run("a superseded attempt does not wait for ever", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(4)
			old := newRig(t, s)
			batches := old.scanAll()
			fresh := newRig(t, s)
			fresh.scanAllAcked()
			began := time.Now()
			for {
				err := old.nextErr(24 * time.Hour)
				if errors.Is(err, ErrFlush) {
					continue
				}
				require.ErrorIs(t, err, ErrSuperseded)
				break
			}
			require.LessOrEqual(t, time.Since(began), time.Minute, "found out with the first stall report")
			_ = batches[0].ack(bg, nil)
			old.end()
			require.True(t, s.rows().Done)
			fresh.end()
		})
	})
	t.Run("an ack that is refused as fenced ends the attempt at once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(4)
			one := func(_ *Config, src *source) { src.segments = 1 }
			old := newRig(t, s, one)
			batches := old.scanAll()
			newRig(t, s, one).scanAllAcked()
			batches[0].deliver(t) // the older one does not know yet
			_ = old.c.Flush(bg)   // now it does, of this segment
			require.ErrorIs(t, batches[1].ack(bg, nil), checkpoint.ErrFenced)
			began := time.Now()
			require.ErrorIs(t, old.nextErr(time.Hour), ErrSuperseded)
			require.Zero(t, time.Since(began))
		})
	})
	t.Run("a superseded attempt runs no hook", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(1)
			var ran []string
			hook := func(name string) func(*Config, *source) {
				return func(_ *Config, src *source) {
					src.noSegment = true // nothing fences it but the done row
					src.hook = func(context.Context, Summary) error { ran = append(ran, name); return nil }
				}
			}
			old := newRig(t, s, hook("old"))
			batches := old.scanAll()
			fresh := newRig(t, s, hook("fresh"))
			fresh.scanAllAcked()
			ackAll(t, batches)
			require.ErrorIs(t, old.nextErr(time.Minute), ErrSuperseded)
			require.Equal(t, []string{"fresh"}, ran)
			old.end()
			fresh.end()
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
				require.NoError(t, r.r.Close(bg))
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
			require.NoError(t, r.r.Close(bg))
			require.Equal(t, time.Minute, time.Since(began))
			require.NoError(t, r.r.Close(bg), "closing again does nothing")
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
			require.NoError(t, batches[0].ack(bg, errors.New("test: refused")))
			require.ErrorIs(t, r.nextErr(170*time.Second), context.DeadlineExceeded)
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

func TestB7_HookRunsUntilItSucceedsThenNeverAgain(t *testing.T) {
	t.Run("crash at every operation", func(t *testing.T) {
		require.Greater(t, everyCrash(t, 3, nil), 10)
	})
	t.Run("a failing hook is retried with growing pauses", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var at []time.Time
			var told []int
			r := newRig(t, calm(2), func(c *Config, src *source) {
				c.Hooks.HookFailed = func(_ error, n int) { told = append(told, n) }
				src.hook = func(context.Context, Summary) error {
					if at = append(at, time.Now()); len(at) < 6 {
						return errors.New("test: the hook fails")
					}
					return nil
				}
			})
			r.scanAllAcked()
			require.Len(t, at, 6)
			require.Equal(t, []int{1, 2, 3, 4, 5}, told)
			for i := 1; i < 6; i++ {
				full := 100 * time.Millisecond << (i - 1)
				require.GreaterOrEqual(t, at[i].Sub(at[i-1]), full/2)
			}
			r.end()
		})
	})
	t.Run("after a crash between hook and marker only the hook runs again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			hooks := 0
			count := func(_ *Config, src *source) {
				src.hook = func(context.Context, Summary) error { hooks++; return nil }
			}
			first := newRig(t, s, count)
			first.store.failOp = func(op string) error {
				if op == "Save backfill/1/done" && hooks > 0 {
					first.store.kill() // the process dies here
					return errDead
				}
				return nil
			}
			ackAll(t, first.scanAll())
			_ = first.nextErr(time.Second)
			require.Equal(t, 1, hooks)
			first.end()

			second := newRig(t, s, count, func(_ *Config, src *source) {
				src.onRead = func(half Phase) { require.NotEqual(t, Backfilling, half, "the scan runs again") }
			})
			require.ErrorIs(t, second.nextErr(time.Second), context.DeadlineExceeded)
			require.Equal(t, Streaming, second.r.Phase())
			require.Equal(t, 2, hooks)
			second.end()

			third := newRig(t, s, count)
			_ = third.nextErr(time.Second)
			require.Equal(t, 2, hooks, "never behind the marker")
			third.end()
		})
	})
	t.Run("a stop does not cancel it, an abort does", func(t *testing.T) {
		for _, abort := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				var hookErr error
				r := newRig(t, calm(1), func(_ *Config, src *source) {
					src.hook = func(ctx context.Context, _ Summary) error {
						select {
						case <-time.After(10 * time.Second):
						case <-ctx.Done():
							hookErr = ctx.Err()
						}
						return hookErr
					}
				})
				r.next().deliver(t)
				require.ErrorIs(t, r.nextErr(time.Second), context.DeadlineExceeded, "Read obeys its context while the hook runs")
				began := time.Now()
				if abort {
					r.r.Abort()
				} else {
					r.r.Stop()
				}
				require.NoError(t, r.r.Close(bg))
				if abort {
					require.Equal(t, context.Canceled, hookErr)
				} else {
					require.NoError(t, hookErr)
					require.Equal(t, 9*time.Second, time.Since(began))
				}
				_ = r.c.Close(bg)
			})
		}
	})
	t.Run("a hook that hangs is ended and called again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hooks := 0
			r := newRig(t, calm(1), func(c *Config, src *source) {
				c.HookTimeout = time.Second
				src.hook = func(ctx context.Context, _ Summary) error {
					if hooks++; hooks == 1 {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}
			})
			r.next().deliver(t)
			_ = r.nextErr(5 * time.Second)
			require.Equal(t, Streaming, r.r.Phase())
			require.Equal(t, 2, hooks)
			r.end()
		})
	})
}

func TestB8_GenerationsAndPlansAreNeverReinterpreted(t *testing.T) {
	t.Run("crash at every operation of a restart", func(t *testing.T) {
		crashes := everyCrash(t, 5, func(s *sim) {
			first := s.begin(-1, false)
			for range 30 {
				first.step()
			}
			first.die()
			s.cfg.Restart = "again"
		})
		require.Greater(t, crashes, 10)
	})
	t.Run("five segments, then one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(30)
			first := newRig(t, s, func(_ *Config, src *source) { src.segments = 5 })
			first.next().deliver(t)
			first.end()
			second := newRig(t, s, func(_ *Config, src *source) { src.segments = 1 })
			second.next()
			require.Equal(t, 5, second.src.run.Plan.Segments)
			require.Len(t, second.src.parts, 5)
			second.end()
		})
	})
	t.Run("a forced new backfill that crashes is not complete", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			first := newRig(t, s)
			first.scanAllAcked()
			s.w.write(1)
			first.next().deliver(t)
			require.NoError(t, first.r.Close(bg))
			require.NoError(t, first.c.Close(bg))
			require.True(t, s.rows().Done)

			var cleared []checkpoint.Key
			again := func(c *Config, _ *source) {
				c.Restart = "monday"
				c.Hooks.Cleared = func(keys []checkpoint.Key) { cleared = keys }
			}
			second := newRig(t, s, again)
			second.next()
			require.Len(t, cleared, 5, "%v", cleared) // plan, done, two segments, the stream
			require.True(t, slices.Contains(cleared, checkpoint.Key{Pipeline: "p", Partition: "stream/log"}))
			second.end()
			st := s.rows()
			require.EqualValues(t, 2, st.Generation)
			require.Empty(t, st.Stale)
			require.False(t, st.Done)

			// The word was obeyed: a crash does not restart it again.
			third := newRig(t, s, again)
			third.scanAllAcked()
			third.end()
			require.EqualValues(t, 2, s.rows().Generation)
			fourth := newRig(t, s, func(c *Config, _ *source) { c.Restart = "" })
			_ = fourth.nextErr(time.Second)
			require.Equal(t, Streaming, fourth.r.Phase())
			fourth.end()
		})
	})
	t.Run("a plan of something else", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			first := newRig(t, s)
			first.next()
			first.end()
			second := newRig(t, s, func(c *Config, _ *source) { c.Source = "another world" })
			err := second.nextErr(time.Second)
			require.ErrorIs(t, err, ErrPlan)
			require.ErrorContains(t, err, `pipeline "p" backfills world, the configuration says another world`)
			second.end()
		})
	})
	t.Run("rows that cannot be understood", func(t *testing.T) {
		for name, content := range map[string]string{
			"backfill/1/plan":         `{"version":99}`,
			"backfill/2/plan":         `not even JSON`,
			"backfill/3/plan":         `{"version":1,"segments":-4}`,
			"backfill/1/something":    `x`,
			"backfill/1/segment/9-of": `x`,
		} {
			bubble(t, func(t *testing.T) {
				s := calm(2)
				row, err := s.mem.Claim(bg, checkpoint.Key{Pipeline: "p", Partition: name}, "test")
				require.NoError(t, err)
				row.Position = content
				row.Revision++
				require.NoError(t, s.mem.Save(bg, row))
				r := newRig(t, s)
				err = r.nextErr(time.Second)
				require.ErrorIs(t, err, ErrPlan)
				require.ErrorContains(t, err, "p/"+name)
				r.end()
			})
		}
	})
	t.Run("two plan at once: one plan stands", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			rapid.SyncTest(rt, func(rt *rapid.T) {
				mem := checkpoint.NewMemory()
				plans := make([]Plan, 2)
				errs := make([]error, 2)
				order := rapid.SliceOfN(rapid.IntRange(0, 1), 12, 12).Draw(rt, "order")
				turns := []chan struct{}{make(chan struct{}, 20), make(chan struct{}, 20)}
				for i := range 2 {
					go func() {
						l := newLedger(&steps{Store: mem, turn: turns[i]}, "p", "", time.Now)
						errs[i] = l.propose(bg, 1, Plan{Anchor: fmt.Sprint(i)}, true)
						if errs[i] == nil {
							st, err := l.read(bg)
							plans[i], errs[i] = st.Plan, err
						}
					}()
				}
				for _, i := range order {
					turns[i] <- struct{}{}
					synctest.Wait()
				}
				for range 20 {
					for i := range 2 {
						select {
						case turns[i] <- struct{}{}:
						default:
						}
					}
				}
				synctest.Wait()
				st, err := newLedger(mem, "p", "", time.Now).read(bg)
				require.NoError(rt, err)
				for i := range 2 {
					if errs[i] != nil {
						require.ErrorIs(rt, errs[i], ErrSuperseded)
					} else {
						require.Equal(rt, st.Plan, plans[i])
					}
				}
				require.False(rt, errs[0] != nil && errs[1] != nil, "both failed")
			})
		})
	})
}

// steps lets one store operation through for each turn.
type steps struct {
	checkpoint.Store
	turn chan struct{}
}

func (s *steps) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	<-s.turn
	return s.Store.Claim(ctx, key, owner)
}

func (s *steps) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	<-s.turn
	return s.Store.Save(ctx, cp)
}
