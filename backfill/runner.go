package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Runner is one attempt of a pipeline: one Read loop over backfill and stream.
// A reconnect makes a new one.
type Runner[B any] struct {
	src    Reader[B]
	opt    any // where the optional interfaces are looked for
	cfg    Config
	led    *ledger // nil in StreamOnlyMode
	bf, st *gate
	held   held

	phase   atomic.Uint32
	reading chan struct{} // Read's lock

	stopCtx, abortCtx context.Context
	stop, abort       context.CancelFunc

	mu         sync.Mutex
	failure    error // ends the attempt
	failed     chan struct{}
	doubted    bool
	doubtCause error         // nil: a mere look
	doubts     chan struct{} // room for one: there is a doubt to resolve

	// What follows belongs to the Read that holds the lock.
	run        Run
	claims     map[string]uint64 // fences of the segments, as the source opened them
	bfPump     *pump[B]
	stPump     *pump[B]
	streamOpen bool
	inter      *interleave[B] // of handoff Interleaved
	warned     int
	flush      schedule
	stalls     [2]stallClock
	hook       *hookCall
	hooked     bool
	retry      retry // of confirm, then of complete
	closed     bool
}

// New returns a Runner of src; it does no I/O and starts nothing.
func New[B any](src Reader[B], cfg Config) (*Runner[B], error) {
	if src == nil {
		return nil, errors.New("backfill: New needs a Reader")
	}
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Runner[B]{
		src: src, opt: src, cfg: cfg,
		bf: newGate(Backfilling), st: newGate(Streaming),
		reading: make(chan struct{}, 1),
		failed:  make(chan struct{}),
		doubts:  make(chan struct{}, 1),
		flush:   schedule{every: cfg.FlushEvery},
	}
	if w, ok := src.(interface{ unwrap() any }); ok {
		r.opt = w.unwrap()
	}
	if cfg.Handoff == Interleaved {
		in, ok := r.opt.(Interleaver[B])
		if !ok {
			return nil, fmt.Errorf("backfill: Handoff Interleaved needs a source that is an Interleaver: %T is none", r.opt)
		}
		r.inter = &interleave[B]{src: in, busy: map[string]int{}}
	}
	if cfg.Mode != StreamOnlyMode {
		r.led = newLedger(cfg.Committer.Store(), cfg.Committer.Pipeline(), cfg.Owner, cfg.Now)
	}
	r.abortCtx, r.abort = context.WithCancel(context.Background())
	r.stopCtx, r.stop = context.WithCancel(r.abortCtx)
	return r, nil
}

// Read returns the next batch of whatever phase the pipeline is in, with the
// AckFunc that settles it. It is for one goroutine at a time. Its errors:
// ErrFlush asks for a flush downstream and another Read; ErrEnd, ErrStopped and
// ctx's own error are ends without failure; ErrSuperseded, ErrDisplaced, ErrNacked,
// ErrPlan, ErrIncomplete and ErrAnchorLost end the attempt; whatever else the
// source or the store returned is worth another Read.
func (r *Runner[B]) Read(ctx context.Context) (b B, ack AckFunc, err error) {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return b, nil, ctx.Err()
	}
	for {
		if err := r.ended(ctx); err != nil {
			return b, nil, err
		}
		if err := r.resolve(ctx); err != nil {
			return b, nil, r.sortError(ctx, err)
		}
		var res result[B]
		switch r.Phase() {
		case Fresh:
			err = r.start(ctx)
		case Backfilling:
			res, err = r.readBackfill(ctx)
		case Settling:
			res, err = r.wait(ctx)
		case Completing:
			err = r.complete(ctx)
		case Streaming:
			res, err = r.readStream(ctx)
		case Finished:
			err = ErrEnd
		}
		if err != nil {
			return b, nil, r.sortError(ctx, r.judge(ctx, err))
		}
		if res.ack != nil {
			return res.b, res.ack, nil
		}
	}
}

// ended is why nothing may be read any more.
func (r *Runner[B]) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	failure := r.failure
	r.mu.Unlock()
	switch {
	case r.stopCtx.Err() != nil:
		return ErrStopped
	case failure != nil:
		return failure
	}
	return nil
}

// sortError tells a stop from a failure, and remembers what ends the attempt.
func (r *Runner[B]) sortError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrFlush), errors.Is(err, ErrEnd):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case r.stopCtx.Err() != nil:
		return ErrStopped
	case errors.Is(err, ErrSuperseded), errors.Is(err, ErrDisplaced), errors.Is(err, ErrAnchorLost),
		errors.Is(err, ErrPlan), errors.Is(err, ErrIncomplete), errors.Is(err, ErrNacked):
		r.fail(err)
	}
	return err
}

func (r *Runner[B]) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
		close(r.failed)
	}
}

// Phase is where the attempt stands.
func (r *Runner[B]) Phase() Phase { return Phase(r.phase.Load()) }

func (r *Runner[B]) enter(to Phase) {
	from := r.Phase()
	if from == to {
		return
	}
	r.phase.Store(uint32(to))
	r.cfg.Log.Debug("backfill: phase", "pipeline", r.pipeline(), "from", from, "to", to)
	if r.cfg.Hooks.PhaseChanged != nil {
		r.cfg.Hooks.PhaseChanged(from, to)
	}
}

// advance takes ev through the machine. An event without a transition is a
// fault of this package.
func (r *Runner[B]) advance(ev event) {
	to, ok := r.Phase().next(ev, r.cfg.Mode)
	if !ok {
		panic("backfill: no transition from " + r.Phase().String())
	}
	r.enter(to)
}

func (r *Runner[B]) pipeline() string {
	if r.led == nil {
		return ""
	}
	return r.led.pipeline
}

// Stats is one moment of an attempt.
type Stats struct {
	Phase            Phase
	Backfill, Stream HalfStats
	Held             int // stream acks held back until the handoff
}

// Stats reports what the attempt has seen.
func (r *Runner[B]) Stats() Stats {
	now := r.cfg.Now()
	return Stats{Phase: r.Phase(), Backfill: r.bf.stats(now), Stream: r.st.stats(now), Held: r.held.size()}
}

// hand gives a batch out.
func (r *Runner[B]) hand(g *gate, b B, ack AckFunc) result[B] {
	if ack == nil {
		ack = func(context.Context, error) error { return nil }
	}
	e := g.add(b, ack, r.cfg.Now())
	return result[B]{b: b, ack: func(ctx context.Context, err error) error {
		return r.settle(ctx, g, e, err)
	}}
}

// untilRetry waits until r.retry is due, or the attempt ends.
func (r *Runner[B]) untilRetry(ctx context.Context) error {
	d := r.retry.at.Sub(r.cfg.Now())
	if r.retry.n == 0 || d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.stopCtx.Done():
		return ErrStopped
	case <-r.failed:
		return r.failure
	}
}

// until is ctx that also ends with Stop.
func (r *Runner[B]) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(r.stopCtx, cancel)
	return ctx, func() { unhook(); cancel() }
}
