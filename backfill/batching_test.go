package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// counter is a downstream that batches by count and by nothing else: it acks
// only when size batches came together, or when it is told to flush.
type counter struct {
	size    int
	waiting []AckFunc
	flushed int
	got     []page
}

func (c *counter) add(t *testing.T, p page, ack AckFunc) {
	c.got = append(c.got, p)
	if c.waiting = append(c.waiting, ack); len(c.waiting) == c.size {
		c.flush(t)
	}
}

func (c *counter) flush(t *testing.T) {
	c.flushed++
	for _, ack := range c.waiting {
		require.NoError(t, ack(bg, nil))
	}
	c.waiting = nil
}

// flushing adds a Flusher to a source.
type flushing struct {
	*source
	flush func(ctx context.Context) error
}

func (f flushing) FlushBackfill(ctx context.Context) error { return f.flush(ctx) }

func TestB6_CountingDownstreamDoesNotDeadlock(t *testing.T) {
	// Eleven batches into a batcher of four: three are left over.
	const keys, size = 11, 4
	one := func(_ *Config, src *source) { src.pageSize, src.segments = 1, 1 }

	t.Run("ErrFlush", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r, c := newRig(t, calm(keys), one), &counter{size: size}
			began := time.Now()
			for r.r.Phase() != Streaming {
				require.Less(t, time.Since(began), time.Hour, "stuck in %s", r.r.Phase())
				b, ack, err := r.readFor(time.Minute)
				switch {
				case errors.Is(err, ErrFlush):
					c.flush(t)
				case errors.Is(err, context.DeadlineExceeded):
				default:
					require.NoError(t, err)
					c.add(t, b, ack)
				}
			}
			require.Len(t, c.got, keys)
			require.Equal(t, 3, c.flushed)
			require.Less(t, time.Since(began), 2*time.Minute)
		})
	})
	t.Run("Config.Flush", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := &counter{size: size}
			r := newRig(t, calm(keys), one, func(cfg *Config, _ *source) {
				cfg.Flush = func(context.Context) error { c.flush(t); return nil }
			})
			r.feed(c)
			require.Len(t, c.got, keys)
		})
	})
	t.Run("Flusher", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := &counter{size: size}
			r := newRig(t, calm(keys), one)
			var err error
			cfg := r.cfg
			cfg.Committer = r.c
			r.r, err = New(flushing{r.src, func(context.Context) error { c.flush(t); return nil }}, cfg)
			require.NoError(t, err)
			r.read = r.r.Read
			r.feed(c)
			require.Len(t, c.got, keys)
		})
	})
	t.Run("a flush that fails is the caller's to know, and is tried again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			flushes := 0
			r := newRig(t, calm(1), one, func(cfg *Config, _ *source) {
				cfg.Flush = func(context.Context) error {
					if flushes++; flushes == 1 {
						return errors.New("test: sink down")
					}
					return nil
				}
			})
			r.next()
			require.EqualError(t, r.nextErr(time.Hour), "test: sink down")
			require.ErrorIs(t, r.nextErr(10*time.Second), context.DeadlineExceeded)
			require.Greater(t, flushes, 1)
		})
	})
	t.Run("Overlap fills the batch from the stream", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(keys)
			c := &counter{size: size}
			r := newRig(t, s, one, func(cfg *Config, _ *source) {
				cfg.Handoff = Overlap
				cfg.Flush = func(context.Context) error { return nil } // deaf: only the stream can help
			})
			for range keys {
				b, ack, err := r.readFor(time.Hour)
				require.NoError(t, err)
				c.add(t, b, ack)
			}
			require.Len(t, c.waiting, 3)
			s.w.write(3)
			b, ack, err := r.readFor(time.Hour)
			require.NoError(t, err)
			require.Equal(t, Streaming, b.half)
			require.Equal(t, Settling, r.r.Phase())
			c.add(t, b, ack)
			require.ErrorIs(t, r.nextErr(time.Second), context.DeadlineExceeded)
			require.Equal(t, Streaming, r.r.Phase())
			require.Zero(t, r.r.Stats().Held)
		})
	})
	t.Run("the signals come at once, then with growing pauses", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(1), one)
			h := r.next()
			began := time.Now()
			var at []time.Duration
			for range 4 {
				require.ErrorIs(t, r.nextErr(time.Hour), ErrFlush)
				at = append(at, time.Since(began))
			}
			require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, at)
			h.deliver(t)
		})
	})
}

// feed reads everything into c.
func (r *rig) feed(c *counter) {
	r.t.Helper()
	for began := time.Now(); r.r.Phase() != Streaming; {
		require.Less(r.t, time.Since(began), time.Hour, "stuck in %s", r.r.Phase())
		b, ack, err := r.readFor(time.Minute)
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		require.NoError(r.t, err)
		c.add(r.t, b, ack)
	}
}

func TestOverlapHoldsTheStreamBack(t *testing.T) {
	t.Run("simulated: nothing is lost", func(t *testing.T) {
		checkSim(t, func(_ *rapid.T, s *sim) { s.cfg.Handoff, s.cfg.MaxHeld = Overlap, 4 })
	})
	overlap := func(cfg *Config, src *source) {
		cfg.Handoff = Overlap
		cfg.MaxHeld = 3
		src.pageSize, src.segments = 1, 1
	}
	t.Run("its acks are not passed on before the marker", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(2)
			first := newRig(t, s, overlap)
			backfill := first.next()
			first.next().deliver(t)
			require.ErrorIs(t, first.nextErr(time.Second), ErrFlush)
			s.w.write(0)
			s.w.write(1)
			first.next().deliver(t)
			first.next().deliver(t)
			require.Equal(t, 2, first.r.Stats().Held)
			require.NoError(t, first.c.Flush(bg))
			require.Empty(t, first.row("stream/log").Position)
			first.end() // a crash: nothing of the stream is lost
			require.Error(t, backfill.ack(bg, nil))

			second := newRig(t, s, overlap)
			second.next().deliver(t)
			second.next().deliver(t)
			require.Equal(t, []change{{0, 2}}, second.next().rows)
			again := second.next()
			require.Equal(t, []change{{1, 2}}, again.rows)
			again.deliver(t)
			second.out[2].deliver(t)
			require.ErrorIs(t, second.nextErr(time.Second), context.DeadlineExceeded)
			require.NoError(t, second.c.Flush(bg))
			require.Equal(t, "1", second.row("stream/log").Position)
			s.w.write(0)
			second.next().deliver(t)
			require.Zero(t, second.r.Stats().Held, "nothing is held behind the marker")
		})
	})
	t.Run("at most MaxHeld", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(1)
			r := newRig(t, s, overlap)
			backfill := r.next()
			require.ErrorIs(t, r.nextErr(time.Second), ErrFlush)
			for range 10 {
				s.w.write(0)
			}
			for range 3 {
				r.next().deliver(t)
			}
			require.ErrorIs(t, r.nextErr(time.Hour), ErrFlush, "the stream waits now")
			require.Equal(t, 3, r.r.Stats().Held)
			backfill.deliver(t)
			require.Equal(t, Streaming, r.next().half)
			require.Equal(t, Streaming, r.r.Phase())
		})
	})
	t.Run("a stream that ends early does not end the backfill", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			a := calm(1)
			r := newRig(t, a, overlap)
			ended := endedStream{r.src}
			cfg := Config{Committer: r.c, Handoff: Overlap}
			var err error
			r.r, err = New(ended, cfg)
			require.NoError(t, err)
			r.read = r.r.Read
			h := r.next()
			require.ErrorIs(t, r.nextErr(time.Second), ErrFlush)
			require.ErrorIs(t, r.nextErr(500*time.Millisecond), context.DeadlineExceeded)
			h.deliver(t)
			require.ErrorIs(t, r.nextErr(time.Second), ErrEnd)
			require.Equal(t, Streaming, r.r.Phase())
		})
	})
}

type endedStream struct{ *source }

func (endedStream) ReadStream(context.Context) (page, AckFunc, error) { return page{}, nil, ErrEnd }
