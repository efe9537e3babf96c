package backfill

import (
	"context"
)

// Stop ends reading softly: Read returns ErrStopped, a wait in the barrier ends,
// the phase stays, and what is in flight can still be settled. A completion hook
// that runs goes on.
func (r *Runner[B]) Stop() { r.stop() }

// Abort ends the attempt at once: it stops, cancels the hook, and every later
// call of an AckFunc returns ErrAttemptOver.
func (r *Runner[B]) Abort() {
	r.bf.end()
	r.st.end()
	r.abort()
}

// Close stops, waits until every batch in flight was acked, discarded or nacked,
// closes the source if it is a Closer, and ends the attempt. When ctx ends first
// it aborts, and returns ctx's error. Closing again does nothing.
func (r *Runner[B]) Close(ctx context.Context) error {
	r.Stop()
	err := r.drain(ctx)
	r.Abort()
	// After Abort nothing below waits for anybody downstream.
	r.reading <- struct{}{}
	defer func() { <-r.reading }()
	for _, p := range []*pump[B]{r.bfPump, r.stPump} {
		if p != nil {
			<-p.done
		}
	}
	if r.hook != nil {
		<-r.hook.done
	}
	if r.closed {
		return err
	}
	r.closed = true
	if err == nil && r.led != nil {
		// A source may give its partitions up as it closes: what is settled is
		// saved before. What cannot be is delivered again, so that is no error.
		_ = r.cfg.Committer.Flush(ctx)
		err = ctx.Err()
	}
	if c, ok := r.opt.(Closer); ok {
		if cerr := c.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

// drain waits for a last word on everything that is out, and for a hook that runs.
func (r *Runner[B]) drain(ctx context.Context) error {
	for _, g := range []*gate{r.bf, r.st} {
		for {
			if _, unheard := g.outstanding(); unheard == 0 {
				break
			}
			select {
			case <-g.moved:
			case <-r.abortCtx.Done():
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	select {
	case r.reading <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	hook := r.hook
	<-r.reading
	if hook == nil {
		return nil
	}
	select {
	case <-hook.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
