package backfill

import (
	"context"
	"errors"
	"fmt"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

// A claim that was lost does not say who gives way: an older attempt, paused
// between its claim of the done row and its claims of the segments, takes them
// from a newer one. Only the done row says which is the newest.

// doubt notes that this attempt may be over; cause is what a lost claim told, or
// nil for a mere look. The Read at hand, or the next one, asks the store.
func (r *Runner[B]) doubt(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubted = true
	if r.doubtCause == nil {
		r.doubtCause = cause
	}
	select {
	case r.doubts <- struct{}{}:
	default:
	}
}

// resolve asks the store about a doubt, if there is one. An error of the store
// leaves it standing: the next Read asks again.
func (r *Runner[B]) resolve(ctx context.Context) error {
	r.mu.Lock()
	doubted, cause := r.doubted, r.doubtCause
	r.mu.Unlock()
	if !doubted {
		return nil
	}
	if err := r.ask(ctx); err != nil {
		return withCause(err, cause)
	}
	if cause != nil {
		return withCause(ErrDisplaced, cause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doubtCause == nil { // else it came meanwhile: asked about next
		r.doubted = false
	}
	return nil
}

// judge turns what a lost claim made a half return into who gives way.
func (r *Runner[B]) judge(ctx context.Context, err error) error {
	fenced, abandoned := errors.Is(err, checkpoint.ErrFenced), errors.Is(err, tracker.ErrAbandoned)
	if r.led == nil || r.Phase() == Fresh || !fenced && !abandoned || errors.Is(err, ErrSuperseded) || r.ended(ctx) != nil {
		return err
	}
	switch asked := r.ask(ctx); {
	case asked != nil:
		return withCause(asked, err)
	case fenced:
		return withCause(ErrDisplaced, err)
	}
	return err
}

// withCause adds what led to verdict. Only a superseded attempt was fenced in the
// end: another verdict must not look like it.
func withCause(verdict, cause error) error {
	switch {
	case cause == nil:
		return verdict
	case errors.Is(verdict, ErrSuperseded):
		return fmt.Errorf("%w: %w", verdict, cause)
	}
	return fmt.Errorf("%w (%v)", verdict, cause)
}

// ask reads the rows for who is the newest attempt, and whether it still has what
// it waits for.
func (r *Runner[B]) ask(ctx context.Context) error {
	ctx, cancel := r.until(ctx)
	defer cancel()
	st, err := r.led.read(ctx)
	if err != nil {
		return err
	}
	return r.holds(st)
}

// holds is an error if the rows say that another attempt or generation has taken
// over, or that an older attempt took a segment that is not complete.
func (r *Runner[B]) holds(st standing) error {
	if err := r.current(st); err != nil {
		return err
	}
	var now map[string]uint64
	for _, w := range st.Waiting {
		mine, ok := r.claims[w.name]
		if !ok || mine == w.fence {
			continue
		}
		if now == nil {
			now = r.openSegments() // a source may have opened it again
		}
		if now[w.name] != w.fence {
			return fmt.Errorf("%w: %s/%s has claim %d, this attempt's is %d", ErrDisplaced, r.pipeline(), w.name, w.fence, mine)
		}
	}
	return nil
}

// openSegments are the segments that the Committer holds, with their claims.
func (r *Runner[B]) openSegments() map[string]uint64 {
	open := map[string]uint64{}
	for _, p := range r.cfg.Committer.Stats() {
		if g, kind, _, _, err := parseName(p.Partition); err == nil && kind == segmentKind && g == r.run.Generation {
			open[p.Partition] = p.Fence
		}
	}
	return open
}
