package backfill

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

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
	t.Run("a restart whose plan cannot be made ready is tried again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(3)
			first := newRig(t, s)
			first.next()
			first.end()
			r := newRig(t, s, func(c *Config, _ *source) { c.Restart = "again" })
			saves := 0
			r.store.failOp = func(op string) error {
				if op != "Save backfill/2/plan" {
					return nil
				}
				if saves++; saves == 2 {
					return errors.New("test: throttled")
				}
				return nil
			}
			require.ErrorContains(t, r.nextErr(time.Second), "throttled")
			require.Equal(t, Fresh, r.r.Phase())
			r.next()
			require.True(t, s.rows().Prepared)
		})
	})
	t.Run("a word for a restart clears nothing of a pipeline that is fresh", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(3)
			key := checkpoint.Key{Pipeline: "p", Partition: "stream/other"}
			row, err := s.mem.Claim(bg, key, "test")
			require.NoError(t, err)
			row.Position, row.Revision = "7", 1
			require.NoError(t, s.mem.Save(bg, row))
			r := newRig(t, s, func(c *Config, _ *source) {
				c.Restart = "first"
				c.Hooks.Cleared = func([]checkpoint.Key) { t.Error("rows are cleared") }
			})
			r.next()
			require.Equal(t, "7", r.row("stream/other").Position)
			require.Equal(t, "first", s.rows().Plan.Restart)
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
	for began := time.Now(); r.r.Phase() != Streaming; {
		require.Less(r.t, time.Since(began), time.Minute, "stuck in %s", r.r.Phase())
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
