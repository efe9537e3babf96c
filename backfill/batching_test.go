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
				b, ack, err := r.read(bg)
				require.NoError(t, err)
				c.add(t, b, ack)
			}
			require.Len(t, c.waiting, 3)
			s.w.write(3)
			b, ack, err := r.read(bg)
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
	for r.r.Phase() != Streaming {
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
				b, ack, err := r.read(bg)
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
				time.Sleep(retention)
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
	t.Run("a stream that has moved answers for itself", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(2)
			first := newRig(t, s, guarded)
			first.scanAllAcked()
			s.w.write(1)
			first.next().deliver(t)
			require.NoError(t, first.r.Close(bg))
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
	})
}

func TestModes(t *testing.T) {
	t.Run("backfill only ends", func(t *testing.T) {
		for _, s := range []*sim{calm(0), calm(5)} {
			bubble(t, func(t *testing.T) {
				s.cfg.Mode = BackfillOnlyMode
				for range 2 { // and again after a restart
					r := newRig(t, s)
					for {
						b, ack, err := r.read(bg)
						if errors.Is(err, ErrEnd) {
							break
						}
						require.NoError(t, err)
						require.Equal(t, Backfilling, b.half)
						require.NoError(t, ack(bg, nil))
					}
					require.Equal(t, Finished, r.r.Phase())
					require.ErrorIs(t, r.nextErr(time.Second), ErrEnd)
					r.end()
				}
			})
		}
	})
	t.Run("backfill only, simulated", func(t *testing.T) {
		checkSim(t, func(_ *rapid.T, s *sim) { s.cfg.Mode = BackfillOnlyMode })
	})
	t.Run("a source without a backfill is unaffected", func(t *testing.T) {
		n := 0
		r, err := New(StreamOnly(func(context.Context) (int, AckFunc, error) {
			if n++; n > 3 {
				return 0, nil, ErrEnd
			}
			return n, nil, nil
		}), Config{Mode: StreamOnlyMode})
		require.NoError(t, err)
		for i := range 3 {
			b, ack, err := r.Read(bg)
			require.NoError(t, err)
			require.Equal(t, i+1, b)
			require.NoError(t, ack(bg, nil))
			require.ErrorIs(t, ack(bg, nil), ErrStale)
		}
		_, _, err = r.Read(bg)
		require.ErrorIs(t, err, ErrEnd)
		require.Equal(t, Stats{Phase: Streaming, Stream: HalfStats{Read: 3, Delivered: 3, Stale: 3, Latency: r.Stats().Stream.Latency}}, r.Stats())
		require.NoError(t, r.Close(bg))
	})
	t.Run("an error of the source is not remembered", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(4))
			failing := &flaky{source: r.src, left: 3}
			var err error
			r.r, err = New(failing, Config{Committer: r.c})
			require.NoError(t, err)
			r.read = r.r.Read
			for range 3 {
				require.EqualError(t, r.nextErr(time.Second), "test: flaky")
			}
			r.next()
		})
	})
	t.Run("latency is measured in both halves", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(1)
			var settled []Settlement
			r := newRig(t, s, func(cfg *Config, _ *source) {
				cfg.Hooks.Settled = func(x Settlement) { settled = append(settled, x) }
			})
			h := r.next()
			time.Sleep(3 * time.Second)
			h.deliver(t)
			r.scanAllAcked()
			s.w.write(0)
			h2 := r.next()
			time.Sleep(5 * time.Second)
			h2.deliver(t)
			st := r.r.Stats()
			require.Equal(t, 3*time.Second, st.Backfill.Latency.Mean())
			require.Equal(t, 5*time.Second, st.Stream.Latency.Max)
			require.Equal(t, []Settlement{
				{Phase: Backfilling, Batch: h.BatchName(), Latency: 3 * time.Second},
				{Phase: Streaming, Batch: h2.BatchName(), Latency: 5 * time.Second},
			}, settled)
		})
	})
	t.Run("what New refuses", func(t *testing.T) {
		src := StreamOnly(func(context.Context) (int, AckFunc, error) { return 0, nil, nil })
		for _, cfg := range []Config{
			{}, // no Committer
			{Mode: StreamOnlyMode + 1},
			{Mode: StreamOnlyMode, Retention: -1},
			{Mode: StreamOnlyMode, MaxHeld: -1},
			{Mode: StreamOnlyMode, OverlapAt: 2},
			{Mode: StreamOnlyMode, WarnAt: []float64{50}},
			{Mode: StreamOnlyMode, Retry: Backoff{Min: time.Hour, Max: time.Second}},
		} {
			_, err := New(src, cfg)
			require.ErrorContains(t, err, "backfill: ")
		}
		_, err := New[int](nil, Config{Mode: StreamOnlyMode})
		require.Error(t, err)
	})
}

type flaky struct {
	*source
	left int
}

func (f *flaky) ReadBackfill(ctx context.Context) (page, AckFunc, error) {
	if f.left > 0 {
		f.left--
		return page{}, nil, errors.New("test: flaky")
	}
	return f.source.ReadBackfill(ctx)
}
