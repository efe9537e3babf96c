package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestB9_AnchorThatAgesIsFoundOut(t *testing.T) {
	const retention = 24 * time.Hour
	guarded := func(cfg *Config, src *source) {
		cfg.Retention = retention
		if src.start.IsZero() {
			src.start = time.Now()
		}
	}
	t.Run("warned at each share, then the typed error", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var warned []time.Duration
			r := newRig(t, calm(100), guarded, func(cfg *Config, _ *source) {
				cfg.Hooks.AnchorAging = func(age, of time.Duration) {
					require.Equal(t, retention, of)
					warned = append(warned, age)
				}
			})
			for {
				b, ack, err := r.readFor(time.Hour)
				if err != nil {
					require.ErrorIs(t, err, ErrAnchorLost)
					var lost *AnchorLostError
					require.ErrorAs(t, err, &lost)
					require.Equal(t, retention, lost.Age)
					require.Equal(t, Backfilling, lost.Phase)
					require.ErrorContains(t, err, "set Config.Restart")
					break
				}
				require.Equal(t, Backfilling, b.half)
				require.NoError(t, ack(bg, nil))
				time.Sleep(time.Hour)
			}
			require.Equal(t, []time.Duration{12 * time.Hour, 20 * time.Hour}, warned) // read every hour
			require.ErrorIs(t, r.nextErr(time.Second), ErrAnchorLost)
		})
	})
	t.Run("found out while the barrier waits", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(2), guarded, func(cfg *Config, _ *source) {
				cfg.Flush = func(context.Context) error { return nil }
			})
			r.next()
			began := time.Now()
			_, _, err := r.read(bg) // the second segment's
			require.NoError(t, err)
			require.ErrorIs(t, r.nextErr(48*time.Hour), ErrAnchorLost)
			require.Equal(t, retention, time.Since(began))
		})
	})
	t.Run("found out by the attempt that comes back too late", func(t *testing.T) {
		for phase := Backfilling; phase <= Streaming; phase++ {
			if phase == Settling {
				continue // it is not durable
			}
			bubble(t, func(t *testing.T) {
				s := calm(4)
				first := newRig(t, s, guarded)
				switch phase {
				case Backfilling:
					first.next()
				case Completing:
					first.store.failOp = func(op string) error {
						if op == "Save backfill/1/done" {
							first.store.kill()
							return errDead
						}
						return nil
					}
					ackAll(t, first.scanAll())
					_ = first.nextErr(time.Second)
				case Streaming:
					first.scanAllAcked()
				}
				first.end()
				time.Sleep(time.Until(first.src.start.Add(retention))) // to the moment
				second := newRig(t, s, guarded)
				err := second.nextErr(time.Second)
				require.ErrorIs(t, err, ErrAnchorLost)
				require.ErrorContains(t, err, phase.String())
				require.False(t, second.rows().Done && phase != Streaming)
				second.end()
				// and a new generation is the remedy
				third := newRig(t, s, guarded, func(cfg *Config, src *source) { cfg.Restart, src.start = "late", time.Now() })
				third.scanAllAcked()
			})
		}
	})
	t.Run("found out between two calls of the hook, not while it runs", func(t *testing.T) {
		for _, fails := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				r := newRig(t, calm(1), guarded, func(cfg *Config, src *source) {
					cfg.HookTimeout = 3 * retention
					src.hook = func(context.Context, Summary) error {
						time.Sleep(2 * retention)
						if fails {
							return errors.New("test: the hook fails")
						}
						return nil
					}
				})
				r.next().deliver(t)
				for range 3 {
					require.ErrorIs(t, r.nextErr(retention/2), context.DeadlineExceeded)
				}
				err := r.nextErr(retention)
				if fails {
					require.ErrorIs(t, err, ErrAnchorLost)
					require.Equal(t, Completing, r.r.Phase())
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, Streaming, r.r.Phase())
				}
			})
		}
	})
	t.Run("a stream that has moved answers for itself", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(2)
			first := newRig(t, s, guarded)
			first.scanAllAcked()
			s.w.write(1)
			first.next().deliver(t)
			first.close()
			time.Sleep(3 * retention)
			second := newRig(t, s, guarded)
			require.ErrorIs(t, second.nextErr(time.Second), context.DeadlineExceeded)
			require.Equal(t, Streaming, second.r.Phase())
		})
	})
	t.Run("AnchorOverlap reads the stream beside the scan in time", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(60)
			began := time.Now()
			opened := time.Duration(0)
			r := newRig(t, s, guarded, func(cfg *Config, src *source) {
				cfg.Anchor = AnchorOverlap
				src.onRead = func(half Phase) {
					if half == Streaming && opened == 0 {
						opened = time.Since(began)
					}
				}
			})
			var halves []Phase
			for r.r.Phase() != Streaming {
				require.Less(t, time.Since(began), 10*retention, "stuck in %s", r.r.Phase())
				b, ack, err := r.readFor(time.Second)
				if errors.Is(err, context.DeadlineExceeded) {
					continue
				}
				require.NoError(t, err)
				require.NoError(t, ack(bg, nil))
				halves = append(halves, b.half)
				s.w.write(1)
				time.Sleep(time.Hour)
			}
			require.GreaterOrEqual(t, opened, 19*time.Hour)
			require.Less(t, opened, 21*time.Hour)
			require.Greater(t, time.Since(began), retention)
			require.Contains(t, halves[20:len(halves)-1], Streaming)
			require.Contains(t, halves[20:], Backfilling)
			require.NotContains(t, halves[:18], Streaming)
		})
	})
	t.Run("the decision", func(t *testing.T) {
		warn := []float64{0.5, 0.8}
		for _, c := range []struct {
			hours  float64
			policy AnchorPolicy
			want   aging
		}{
			{0, AnchorFail, aging{next: 12 * time.Hour}},
			{-1, AnchorFail, aging{next: 13 * time.Hour}}, // the source's clock is ahead
			{12, AnchorFail, aging{warn: 1, next: 7*time.Hour + 12*time.Minute}},
			{20, AnchorFail, aging{warn: 2, next: 4 * time.Hour}},
			{20, AnchorOverlap, aging{warn: 2, overlap: true, next: 4 * time.Hour}},
			{24, AnchorFail, aging{warn: 2, lost: true}},
			{1000, AnchorOverlap, aging{warn: 2, overlap: true, lost: true}},
		} {
			got := ageOf(time.Duration(c.hours*float64(time.Hour)), retention, warn, c.policy, 0.8)
			require.Equal(t, c.want, got, "%v hours, policy %d", c.hours, c.policy)
		}
		got := ageOf(11*time.Hour, retention, []float64{0.8}, AnchorOverlap, 0.5)
		require.Equal(t, aging{next: time.Hour}, got, "the overlap comes before the warning")
	})
}
