package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestB10_InterleavedOverwritesNothingNewer(t *testing.T) {
	interleaved := func(cfg *Config, src *source) {
		cfg.Handoff = Interleaved
		src.segments, src.pageSize = 1, 3
	}
	t.Run("simulated: nothing is lost, nothing is overwritten by an older version", func(t *testing.T) {
		checkSim(t, func(_ *rapid.T, s *sim) { s.cfg.Handoff = Interleaved })
	})
	t.Run("what changed between read and watermark is the stream's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			r := newRig(t, s, interleaved)
			reads := 0
			r.src.onRead = func(half Phase) {
				if reads++; half == Backfilling && reads == 1 {
					time.AfterFunc(0, func() { s.w.write(1) })
				}
			}
			slow := slowRead{r.src}
			cfg := Config{Committer: r.c, Handoff: Interleaved}
			var err error
			r.r, err = New(slow, cfg)
			require.NoError(t, err)
			r.read = r.r.Read

			fromStream := r.next()
			require.Equal(t, page{Streaming, "stream", []change{{1, 2}}}, fromStream.page)
			require.ErrorIs(t, r.nextErr(time.Minute), ErrFlush, "the rest waits for what was dropped in favour of it")
			fromStream.deliver(t)
			require.NoError(t, r.c.Flush(bg))
			require.Equal(t, "0", r.row("stream/log").Position, "the source hears of it")
			first := r.next()
			require.Equal(t, page{Backfilling, "segment 0", []change{{0, 1}, {2, 1}}}, first.page)

			// The stream may not overtake a row that is still out.
			s.w.write(2)
			second := r.nextErr(time.Minute)
			require.ErrorIs(t, second, ErrFlush)
			first.deliver(t)
			require.Equal(t, page{Streaming, "stream", []change{{2, 2}}}, r.next().page)
			require.Equal(t, page{Backfilling, "segment 0", []change{{3, 1}, {4, 1}, {5, 1}}}, r.next().page)
		})
	})
	t.Run("a batch of which nothing is left is settled", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(2)
			r := newRig(t, s, interleaved)
			s.w.write(0) // before the plan
			r.src.onRead = func(half Phase) {
				if half == Backfilling && len(s.w.log) == 1 {
					time.AfterFunc(0, func() { s.w.write(0); s.w.write(1) })
				}
			}
			var err error
			r.r, err = New(refusing{slowRead{r.src}, 2}, Config{Committer: r.c, Handoff: Interleaved})
			require.NoError(t, err)
			r.read = r.r.Read
			h := r.next()
			require.Equal(t, []change{{0, 3}, {1, 2}}, h.rows)
			h.deliver(t)
			for range 2 {
				require.ErrorIs(t, r.nextErr(time.Second), errRefused)
			}
			require.ErrorIs(t, r.nextErr(time.Second), context.DeadlineExceeded)
			require.Equal(t, Streaming, r.r.Phase())
			require.Zero(t, r.r.Stats().Backfill.Read)
		})
	})
	t.Run("what holds it up is reported", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			began := time.Now()
			var at, flushed []time.Duration
			var oldest string
			s := calm(6)
			r := newRig(t, s, interleaved, func(cfg *Config, _ *source) {
				cfg.Flush = func(context.Context) error { flushed = append(flushed, time.Since(began)/time.Second); return nil }
				cfg.Hooks.Stalled = func(s Stall) { at, oldest = append(at, time.Since(began)), s.Oldest }
			})
			h := r.next()
			s.w.write(1)
			require.ErrorIs(t, r.nextErr(100*time.Second), context.DeadlineExceeded)
			require.Equal(t, []time.Duration{30 * time.Second, time.Minute}, at)
			require.Equal(t, h.BatchName(), oldest)
			require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 31, 61, 91}, flushed)
			require.Equal(t, Backfilling, r.r.Phase())
		})
	})
	t.Run("the barrier asks for a flush at once, whatever was asked before", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(4)
			r := newRig(t, s, interleaved)
			first := r.next()
			s.w.write(1)
			began := time.Now()
			require.ErrorIs(t, r.nextErr(time.Minute), ErrFlush)
			first.deliver(t)
			r.next().deliver(t)
			require.Equal(t, page{Backfilling, "segment 0", []change{{3, 1}}}, r.next().page)
			require.ErrorIs(t, r.nextErr(time.Minute), ErrFlush)
			require.Equal(t, Settling, r.r.Phase())
			require.Zero(t, time.Since(began))
		})
	})
	t.Run("a superseded attempt does not wait for ever", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			old := newRig(t, s, interleaved)
			old.next()
			s.w.write(1)
			fresh := newRig(t, s, interleaved)
			fresh.next()
			began := time.Now()
			require.ErrorIs(t, old.waitErr(), ErrSuperseded)
			require.Equal(t, 30*time.Second, time.Since(began), "found out with the first stall report")
		})
	})
	t.Run("a stream that ends before the watermark", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(2)
			r := newRig(t, s, interleaved)
			var err error
			r.r, err = New(endedStream{r.src}, Config{Committer: r.c, Handoff: Interleaved})
			require.NoError(t, err)
			r.src.onRead = func(Phase) { s.w.write(1) } // behind the plan
			r.read = r.r.Read
			h := r.next()
			require.Equal(t, []change{{0, 1}, {1, 2}}, h.rows)
			h.deliver(t)
			require.ErrorIs(t, r.nextErr(time.Second), ErrEnd)
			require.Equal(t, Streaming, r.r.Phase())
		})
	})
	t.Run("no limit by the stream's retention", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(60)
			for range 3 {
				r := newRig(t, s, interleaved, func(cfg *Config, src *source) { cfg.Retention, src.start = 24*time.Hour, time.Now() })
				for range 12 {
					s.w.write(59)
					b, ack, err := r.readFor(time.Hour)
					if errors.Is(err, ErrFlush) {
						continue
					}
					require.NoError(t, err, b)
					require.NoError(t, ack(bg, nil))
					time.Sleep(3 * time.Hour)
				}
				r.close()
				require.NoError(t, r.c.Close(bg))
			}
		})
	})
	t.Run("a source that cannot", func(t *testing.T) {
		s := calm(1)
		_, err := New(StreamOnly(func(context.Context) (int, AckFunc, error) { return 0, nil, nil }), Config{Handoff: Interleaved, Committer: s.begin(-1, false).c})
		require.ErrorContains(t, err, "Interleaver")
		_, err = New[page](&source{}, Config{Handoff: Interleaved, Mode: StreamOnlyMode})
		require.ErrorContains(t, err, "needs both halves")
	})
}

// slowRead gives a write the time to come between the read of a batch and its
// watermark.
type slowRead struct{ *source }

func (s slowRead) ReadBackfill(ctx context.Context) (page, AckFunc, error) {
	b, ack, err := s.source.ReadBackfill(ctx)
	time.Sleep(time.Millisecond)
	return b, ack, err
}

// refusing refuses the first acks of each batch of the backfill.
type refusing struct {
	slowRead
	times int
}

func (f refusing) ReadBackfill(ctx context.Context) (page, AckFunc, error) {
	b, ack, err := f.slowRead.ReadBackfill(ctx)
	if err != nil {
		return b, ack, err
	}
	left := f.times
	return b, func(ctx context.Context, err error) error {
		if left > 0 {
			left--
			return errRefused
		}
		return ack(ctx, err)
	}, nil
}
