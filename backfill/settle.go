package backfill

import (
	"context"
	"errors"

	"github.com/ackgate/ackgate/checkpoint"
)

// settle is one call of an AckFunc.
func (r *Runner[B]) settle(ctx context.Context, g *gate, e *batch, err error) error {
	if terr := g.take(e); terr != nil {
		return terr
	}
	ack := e.ack // only the owner reads it
	v := delivered
	switch {
	case Discarded(err):
		v = discarded
	case err != nil && r.cfg.Nack == DiscardNacked:
		v = discarded
	case err != nil:
		v = nacked
	}
	var serr error
	switch v {
	case nacked:
		serr = ack(ctx, err)
	case discarded:
		// Counted before it is settled: a crash in between counts it twice
		// rather than never (B3).
		if serr = r.countDiscard(ctx, g); serr == nil {
			serr = r.settleSource(ctx, g, ack)
		}
	default:
		serr = r.settleSource(ctx, g, ack)
	}
	if serr != nil && v != nacked {
		g.give(e, undecided, nil, r.cfg.Now())
		switch {
		case errors.Is(serr, ErrSuperseded):
			r.fail(serr)
		case g.half == Backfilling && errors.Is(serr, checkpoint.ErrFenced):
			// Another attempt has this segment: nothing of this one's will
			// ever settle, so its barrier must not wait for it.
			r.doubt(serr)
		}
		return serr
	}
	name := e.name
	age := g.give(e, v, err, r.cfg.Now())
	if v == nacked {
		if r.cfg.Nack == Fail {
			r.fail(&NackedError{Batch: name, Phase: g.half, Err: err})
		}
		if r.cfg.Hooks.Nacked != nil {
			r.cfg.Hooks.Nacked(g.half, name, err)
		}
		return serr
	}
	if r.cfg.Hooks.Settled != nil {
		r.cfg.Hooks.Settled(Settlement{Phase: g.half, Batch: name, Discarded: v == discarded, Latency: age})
	}
	return nil
}

func (r *Runner[B]) countDiscard(ctx context.Context, g *gate) error {
	if g.half == Streaming || r.led == nil {
		return nil // the Summary is the backfill's
	}
	return r.led.discard(ctx, g.stats(r.cfg.Now()).Delivered)
}

// settleSource passes a settlement on, or holds it back while the stream runs
// ahead of the handoff.
func (r *Runner[B]) settleSource(ctx context.Context, g *gate, ack AckFunc) error {
	if g.half == Streaming && r.held.keep(ack) {
		return nil
	}
	return ack(ctx, nil)
}
