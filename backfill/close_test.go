package backfill

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowToEnd is a source whose calls go on for a second after their context ended.
type slowToEnd struct {
	*source
	running atomic.Int32 // calls of ReadBackfill and ReadStream
	t       *testing.T
}

func (s *slowToEnd) slow(ctx context.Context, read ReadFunc[page]) (page, AckFunc, error) {
	s.running.Add(1)
	defer s.running.Add(-1)
	b, ack, err := read(ctx)
	if ctx.Err() != nil {
		time.Sleep(time.Second)
	}
	return b, ack, err
}

func (s *slowToEnd) ReadBackfill(ctx context.Context) (page, AckFunc, error) {
	return s.slow(ctx, func(ctx context.Context) (page, AckFunc, error) {
		if len(s.parts) > 0 && s.turn > 0 {
			<-ctx.Done() // one batch, and no more
		}
		return s.source.ReadBackfill(ctx)
	})
}

func (s *slowToEnd) ReadStream(ctx context.Context) (page, AckFunc, error) {
	return s.slow(ctx, s.source.ReadStream)
}

func (s *slowToEnd) Close(ctx context.Context) error {
	require.Zero(s.t, s.running.Load(), "closed under a call")
	return s.source.Close(ctx)
}

type unclosable struct{ *source }

func (unclosable) Close(context.Context) error { return errRefused }

func TestB5_CloseWaitsForWhatRuns(t *testing.T) {
	t.Run("a Read, which ends", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(1))
			r.scanAllAcked()
			ended := make(chan error, 1)
			go func() {
				_, _, err := r.read(bg)
				ended <- err
			}()
			synctest.Wait()
			began := time.Now()
			r.close()
			require.Zero(t, time.Since(began))
			require.Equal(t, ErrStopped, <-ended)
			require.Equal(t, 1, r.src.closed)
		})
	})
	t.Run("both halves", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(60), func(cfg *Config, src *source) {
				cfg.Retention, cfg.Anchor, src.start = time.Hour, AnchorOverlap, time.Now().Add(-50*time.Minute)
			})
			src := &slowToEnd{source: r.src, t: t}
			var err error
			r.r, err = New[page](src, r.r.cfg)
			require.NoError(t, err)
			r.read = r.r.Read
			r.next().deliver(t)
			require.ErrorIs(t, r.nextErr(time.Second), context.DeadlineExceeded)
			require.EqualValues(t, 2, src.running.Load())
			began := time.Now()
			r.close()
			require.Equal(t, time.Second, time.Since(began))
			require.Equal(t, 1, src.closed)
		})
	})
	t.Run("a last save, for as long as it may", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(8))
			r.next().deliver(t)
			r.store.failOp = func(op string) error {
				if strings.HasPrefix(op, "Save") {
					return errors.New("test: down")
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(bg, time.Minute)
			defer cancel()
			began := time.Now()
			require.Equal(t, context.DeadlineExceeded, r.r.Close(ctx))
			require.Equal(t, time.Minute, time.Since(began))
			require.Equal(t, 1, r.src.closed)
		})
	})
	t.Run("the source, which may say that it could not", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(8))
			var err error
			r.r, err = New[page](unclosable{r.src}, r.r.cfg)
			require.NoError(t, err)
			require.Equal(t, errRefused, r.r.Close(bg))
			require.NoError(t, r.r.Close(bg), "closing again does nothing")
			ctx, cancel := context.WithCancel(bg)
			cancel()
			r.r, err = New[page](unclosable{r.src}, r.r.cfg)
			require.NoError(t, err)
			require.Equal(t, context.Canceled, r.r.Close(ctx), "the first error is the one")
		})
	})
	t.Run("a hook, also one that was aborted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			var running atomic.Bool
			r := newRig(t, calm(1), func(_ *Config, src *source) {
				src.hook = func(ctx context.Context, _ Summary) error {
					running.Store(true)
					<-ctx.Done()
					time.Sleep(time.Second)
					running.Store(false)
					return ctx.Err()
				}
			})
			r.next().deliver(t)
			require.ErrorIs(t, r.nextErr(time.Second), context.DeadlineExceeded)
			require.True(t, running.Load())
			ctx, cancel := context.WithTimeout(bg, time.Minute/2)
			defer cancel()
			began := time.Now()
			require.Equal(t, context.DeadlineExceeded, r.r.Close(ctx))
			require.False(t, running.Load())
			require.Equal(t, 31*time.Second, time.Since(began))
			require.Equal(t, 1, r.src.closed)
		})
	})
}
