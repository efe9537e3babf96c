package backfill

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
	t.Run("the source and the hook are told of it", func(t *testing.T) {
		down := errors.New("test: the source is down")
		var told []error
		var hooked []string
		r, err := New(StreamOnly(func(context.Context) (int, AckFunc, error) {
			return 0, func(_ context.Context, err error) error {
				if told = append(told, err); len(told) == 2 {
					return down
				}
				return nil
			}, nil
		}), Config{Mode: StreamOnlyMode, Hooks: Hooks{Nacked: func(half Phase, batch string, err error) {
			hooked = append(hooked, fmt.Sprint(half, ", ", batch, ", ", err))
		}}})
		require.NoError(t, err)
		_, ack, err := r.Read(bg)
		require.NoError(t, err)
		require.NoError(t, ack(bg, refused))
		require.Equal(t, down, ack(bg, refused), "what the source says of a nack is passed on")
		require.Equal(t, []error{refused, refused}, told)
		require.Equal(t, []string{"Streaming, stream batch 1, test: refused", "Streaming, stream batch 1, test: refused"}, hooked)
		require.EqualValues(t, 2, r.Stats().Stream.Nacked)
		require.NoError(t, r.Close(bg))
	})
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
