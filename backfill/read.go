package backfill

import (
	"context"
	"errors"
	"time"
)

func (r *Runner[B]) readBackfill(ctx context.Context) (res result[B], err error) {
	if _, err := r.guardAnchor(); err != nil {
		return res, err
	}
	r.watchStalls()
	switch {
	case r.inter != nil:
		return r.readInterleaved(ctx)
	case r.streamOpen:
		return r.wait(ctx)
	}
	rctx, cancel := r.until(ctx)
	defer cancel()
	b, ack, err := r.src.ReadBackfill(rctx)
	return r.tookBackfill(result[B]{b, ack, err})
}

func (r *Runner[B]) tookBackfill(in result[B]) (res result[B], err error) {
	switch {
	case in.err == nil:
		return r.hand(r.bf, in.b, in.ack), nil
	case errors.Is(in.err, ErrBackfillComplete):
		r.flush = schedule{every: r.cfg.FlushEvery}
		r.advance(exhausted) // first: openStream asks the phase what is left to read
		if r.cfg.Handoff == Overlap {
			r.openStream()
		}
		return res, nil
	}
	return res, in.err
}

func (r *Runner[B]) readStream(ctx context.Context) (res result[B], err error) {
	r.watchStalls()
	if r.stPump == nil {
		rctx, cancel := r.until(ctx)
		defer cancel()
		b, ack, err := r.src.ReadStream(rctx)
		if err != nil {
			return res, err
		}
		return r.hand(r.st, b, ack), nil
	}
	if err := r.held.release(ctx); err != nil {
		return res, err
	}
	select {
	case in := <-r.stPump.out:
		return r.tookStream(in)
	case <-r.stPump.done:
		if r.stopCtx.Err() != nil {
			return res, ErrStopped
		}
		return res, ErrEnd
	case <-r.stopCtx.Done():
		return res, ErrStopped
	case <-r.failed:
		return res, r.failure
	case <-ctx.Done():
		return res, ctx.Err()
	}
}

func (r *Runner[B]) tookStream(in result[B]) (res result[B], err error) {
	if in.err != nil {
		return res, in.err
	}
	return r.hand(r.st, in.b, in.ack), nil
}

// openStream reads the stream beside what is left of the backfill, its acks held
// back until the marker is durable.
func (r *Runner[B]) openStream() {
	if r.streamOpen {
		return
	}
	r.streamOpen = true
	r.held.shut()
	r.stPump = startPump(r.stopCtx, r.src.ReadStream, func(err error) bool { return errors.Is(err, ErrEnd) })
	if r.Phase() == Backfilling {
		r.bfPump = startPump(r.stopCtx, r.src.ReadBackfill, func(err error) bool { return errors.Is(err, ErrBackfillComplete) })
	}
}

// wait is the settle barrier, and with it everything that is read while it
// stands: the rest of the scan and the stream, if both halves are open.
func (r *Runner[B]) wait(ctx context.Context) (res result[B], err error) {
	for {
		settling := r.Phase() == Settling
		if open, _ := r.bf.outstanding(); settling && open == 0 {
			return res, r.confirm(ctx)
		}
		anchor, err := r.guardAnchor()
		if err != nil {
			return res, err
		}
		now := r.cfg.Now()
		due, stalled := r.watchStalls()
		if stalled {
			// What never settles may be another attempt's by now.
			if err := r.checkCurrent(ctx); err != nil {
				return res, err
			}
		}
		if anchor > 0 {
			due = min(due, anchor)
		}
		// With the stream held up, nothing may come before a batch settles, so
		// whatever batches up downstream has to be flushed here too.
		full := r.streamOpen && r.aheadOfHandoff() >= r.cfg.MaxHeld
		if settling || full {
			flush := r.flush.due(now)
			if flush <= 0 {
				r.flush.sent(now)
				if err := r.askFlush(ctx); err != nil {
					return res, err
				}
				continue
			}
			due = min(due, flush)
		}

		var bfOut, stOut chan result[B]
		var stDone chan struct{}
		if r.bfPump != nil && !settling {
			bfOut = r.bfPump.out
		}
		if r.stPump != nil && !full {
			stOut, stDone = r.stPump.out, r.stPump.done
			select {
			case <-stDone: // the stream ended early; the backfill goes on
				stOut, stDone = nil, nil
			default:
			}
		}
		timer := time.NewTimer(due)
		select {
		case in := <-bfOut:
			res, err = r.tookBackfill(in)
		case in := <-stOut:
			if errors.Is(in.err, ErrEnd) {
				break // said again in Streaming
			}
			res, err = r.tookStream(in)
		case <-stDone:
		case <-r.bf.moved:
			r.flush.progress()
		case <-timer.C:
		case <-r.doubts:
			err = r.resolve(ctx)
		case <-r.failed:
			err = r.failure
		case <-r.stopCtx.Done():
			err = ErrStopped
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		if res.ack != nil || err != nil {
			return res, err
		}
	}
}

// aheadOfHandoff is how many stream batches the source has not heard of.
func (r *Runner[B]) aheadOfHandoff() int {
	open, _ := r.st.outstanding()
	return open + r.held.size()
}

// askFlush has whatever batches up downstream flushed (B6).
func (r *Runner[B]) askFlush(ctx context.Context) error {
	flush := r.cfg.Flush
	if f, ok := r.opt.(Flusher); ok && flush == nil {
		flush = f.FlushBackfill
	}
	if flush == nil {
		return ErrFlush
	}
	ctx, cancel := r.until(ctx)
	defer cancel()
	return flush(ctx)
}
