package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestModes(t *testing.T) {
	t.Run("backfill only ends", func(t *testing.T) {
		for _, s := range []*sim{calm(0), calm(5)} {
			bubble(t, func(t *testing.T) {
				s.cfg.Mode = BackfillOnlyMode
				for range 2 { // and again after a restart
					r := newRig(t, s)
					for {
						b, ack, err := r.readFor(time.Hour)
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
	t.Run("backfill only finds what else the source can", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hooks := 0
			r := newRig(t, calm(3), func(_ *Config, src *source) {
				src.hook = func(_ context.Context, s Summary) error {
					require.Equal(t, "world", s.Plan.Source)
					hooks++
					return nil
				}
			})
			cfg := r.r.cfg
			cfg.Mode = BackfillOnlyMode
			var err error
			r.r, err = New(BackfillOnly(r.src), cfg)
			require.NoError(t, err)
			r.read = r.r.Read
			ackAll(t, r.scanAll())
			require.ErrorIs(t, r.nextErr(time.Second), ErrEnd)
			require.Equal(t, 1, hooks)
			r.close()
			require.Equal(t, 1, r.src.closed)
		})
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
	t.Run("stream only is told where it starts, and of the phase", func(t *testing.T) {
		src := &starter{}
		var phases []Phase
		r, err := New[int](src, Config{Mode: StreamOnlyMode, Hooks: Hooks{
			PhaseChanged: func(from, to Phase) { phases = append(phases, from, to) },
		}})
		require.NoError(t, err)
		_, _, err = r.Read(bg)
		require.NoError(t, err)
		require.Equal(t, Run{Phase: Streaming}, src.run)
		require.Equal(t, []Phase{Fresh, Streaming}, phases)
		require.Equal(t, context.Canceled, src.read.Err(), "the context of a read ends with it")
		r.Abort()
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

// starter notes what it is told.
type starter struct {
	run  Run
	read context.Context // looked at behind the call
}

func (s *starter) StartBackfill(_ context.Context, run Run) error {
	s.run = run
	return nil
}

func (s *starter) ReadBackfill(context.Context) (int, AckFunc, error) {
	return 0, nil, ErrBackfillComplete
}

func (s *starter) ReadStream(ctx context.Context) (int, AckFunc, error) {
	s.read = ctx
	return 1, nil, nil
}
