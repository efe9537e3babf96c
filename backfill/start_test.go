package backfill

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
