package backfill

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
	t.Run("the barrier's failures are not counted as the hook's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var told []int
			var log strings.Builder
			lists := 0
			r := newRig(t, calm(2), func(c *Config, src *source) {
				c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				c.Hooks.HookFailed = func(_ error, n int) { told = append(told, n) }
				src.hook = func(context.Context, Summary) error {
					if len(told) < 2 {
						return errors.New("test: the hook fails")
					}
					return nil
				}
			})
			batches := r.scanAll()
			r.store.failOp = func(op string) error {
				if op != "List backfill/" {
					return nil
				}
				if lists++; lists <= 4 {
					return errors.New("test: throttled")
				}
				return nil
			}
			ackAll(t, batches)
			r.scanAllAcked()
			require.Equal(t, []int{1, 2}, told)
			require.Equal(t, 4, strings.Count(log.String(), "the barrier waits for the store"))
			require.Equal(t, 2, strings.Count(log.String(), "the completion will be tried again"))
			require.Equal(t, 1, strings.Count(log.String(), "from=Completing to=Streaming"))
		})
	})
	t.Run("it is told what it completes", func(t *testing.T) {
		for _, timed := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				var sum Summary
				s := calm(4)
				setUp := func(_ *Config, src *source) {
					if timed {
						src.start = time.Now().UTC()
					}
					src.hook = func(_ context.Context, got Summary) error { sum = got; return nil }
				}
				first := newRig(t, s, setUp)
				first.next()
				first.end()
				r := newRig(t, s, setUp)
				batches := r.scanAll()
				time.Sleep(90 * time.Second)
				ackAll(t, batches)
				r.scanAllAcked()
				plan := s.rows().Plan
				require.Equal(t, !timed, plan.StartTime.IsZero())
				want := Summary{Plan: plan, Generation: 1, Attempt: 2, Delivered: 2}
				if timed {
					want.Elapsed = 90 * time.Second
				}
				require.Equal(t, want, sum)
			})
		}
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
				r.close()
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
