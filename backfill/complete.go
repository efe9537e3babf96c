package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// confirm makes sure that what is settled is durable: it asks the store, not the
// memory of this process (B2).
func (r *Runner[B]) confirm(ctx context.Context) error {
	for {
		if err := r.untilRetry(ctx); err != nil {
			return err
		}
		err := r.confirmOnce(ctx)
		switch {
		case err == nil:
			r.retry = retry{}
			r.advance(settled)
			return nil
		case errors.Is(err, ErrSuperseded), errors.Is(err, ErrDisplaced), errors.Is(err, ErrIncomplete), errors.Is(err, ErrPlan):
			return err
		}
		if err := r.ended(ctx); err != nil {
			return err
		}
		r.cfg.Log.Debug("backfill: the barrier waits for the store", "pipeline", r.pipeline(), "err", err)
		if r.cfg.Hooks.Stalled != nil {
			r.cfg.Hooks.Stalled(Stall{Phase: Settling, LastErr: err})
		}
		r.retry.failed(r.cfg.Now(), r.cfg.Retry)
	}
}

func (r *Runner[B]) confirmOnce(ctx context.Context) error {
	ctx, cancel := r.until(ctx)
	defer cancel()
	// Flush repeats failed saves for as long as it may: not so long that the
	// wait goes unreported.
	fctx, done := context.WithTimeout(ctx, r.cfg.StallAfter)
	defer done()
	flushErr := r.cfg.Committer.Flush(fctx)
	st, err := r.led.read(ctx)
	if err != nil {
		return err
	}
	if err := r.holds(st); err != nil {
		return err
	}
	switch {
	case st.Complete == st.Segments && (st.Segments > 0 || flushErr == nil):
		// The committer may hold partitions of others; what the handoff
		// needs is durable, whatever else failed.
		return r.led.note(ctx, r.bf.stats(r.cfg.Now()).Delivered)
	case flushErr != nil:
		return flushErr
	}
	return fmt.Errorf("%w: %d of %d are complete, not %v: the source must seal each segment once it has read it all",
		ErrIncomplete, st.Complete, st.Segments, st.Waiting)
}

// current is an error if another attempt or generation has taken over.
func (r *Runner[B]) current(st standing) error {
	if st.Generation != r.run.Generation || st.DoneFence != r.run.Attempt {
		return fmt.Errorf("%w: pipeline %q is at generation %d, attempt %d; this is %d, %d",
			ErrSuperseded, r.pipeline(), st.Generation, st.DoneFence, r.run.Generation, r.run.Attempt)
	}
	return nil
}

// checkCurrent asks the store whether this attempt still holds what it has. A store
// that does not answer is no reason to stop waiting.
func (r *Runner[B]) checkCurrent(ctx context.Context) error {
	ctx, cancel := r.until(ctx)
	defer cancel()
	ctx, done := context.WithTimeout(ctx, r.cfg.StallAfter)
	defer done()
	st, err := r.led.read(ctx)
	if err != nil {
		return nil
	}
	return r.holds(st)
}

// hookCall is one running call of BackfillComplete.
type hookCall struct {
	done chan struct{}
	err  error // set when done is closed
}

// complete runs the hook, then makes the marker durable. Everything in it may be
// repeated: the hook is called at least once (B7).
func (r *Runner[B]) complete(ctx context.Context) error {
	for {
		if err := r.untilRetry(ctx); err != nil {
			return err
		}
		if r.hook == nil {
			// Not with the hook running: it goes on whatever the anchor does.
			if _, err := r.guardAnchor(); err != nil {
				return err
			}
		}
		err := r.completeOnce(ctx)
		switch {
		case err == nil:
			r.advance(marked)
			// What fails here is passed on by later reads of the stream.
			return r.held.release(ctx)
		case errors.Is(err, ErrSuperseded), errors.Is(err, ErrStopped), ctx.Err() != nil:
			return err
		}
		r.retry.failed(r.cfg.Now(), r.cfg.Retry)
		r.cfg.Log.Warn("backfill: the completion will be tried again", "pipeline", r.pipeline(), "attempt", r.retry.n, "err", err)
		if r.cfg.Hooks.HookFailed != nil {
			r.cfg.Hooks.HookFailed(err, r.retry.n)
		}
	}
}

func (r *Runner[B]) completeOnce(ctx context.Context) error {
	n := r.bf.stats(r.cfg.Now()).Delivered
	if c, ok := r.opt.(Completer); ok && !r.hooked {
		if err := r.runHook(ctx, c, n); err != nil {
			return err
		}
		r.hooked = true
	}
	return r.led.mark(ctx, n)
}

// runHook calls the hook in a goroutine of its own, so that neither ctx nor Stop
// has to cancel it half way: a Read that gives up leaves it running, and the
// next Read, or Close, picks it up.
func (r *Runner[B]) runHook(ctx context.Context, c Completer, delivered uint64) error {
	if r.hook == nil {
		call := &hookCall{done: make(chan struct{})}
		sum := r.summary(delivered)
		hctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.HookTimeout)
		unhook := context.AfterFunc(r.abortCtx, cancel)
		go func() {
			defer close(call.done)
			defer cancel()
			defer unhook()
			call.err = c.BackfillComplete(hctx, sum)
		}()
		r.hook = call
	}
	select {
	case <-r.hook.done:
		err := r.hook.err
		r.hook = nil
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-r.stopCtx.Done():
		return ErrStopped
	}
}

func (r *Runner[B]) summary(delivered uint64) Summary {
	t := r.led.counts(delivered)
	s := Summary{
		Plan: r.run.Plan, Generation: r.run.Generation, Attempt: r.run.Attempt,
		Delivered: t.Delivered, Discarded: t.Discarded,
	}
	if !s.Plan.StartTime.IsZero() {
		s.Elapsed = max(0, r.cfg.Now().Sub(s.Plan.StartTime)).Round(time.Millisecond)
	}
	return s
}
