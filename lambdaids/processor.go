package lambdaids

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Processor runs a handler over the batches of one source and answers with the
// right identifiers. It keeps nothing of a batch beyond Process but its counters,
// so an error of one invocation never shows in a later one of the same warm
// process. It is safe for concurrent use.
type Processor[R any, ID Identifier] struct {
	src     Source[R, ID]
	handler Handler[R]
	cfg     Config[R]
	policy  Policy

	spare sync.Pool // of *pass[R, ID]
	stats counters
}

// Stats counts what a Processor saw since it was made.
type Stats struct {
	Batches, WholeBatch                     uint64 // WholeBatch: answered with an error
	Done, Failed, Unprocessed, DeadLettered uint64 // records
	Unreportable, Panics, Redelivered       uint64 // records; Redelivered: settled, but they come again; Panics: failed by one
}

type counters struct {
	batches, whole                          atomic.Uint64
	done, failed, unprocessed, deadLettered atomic.Uint64
	unreportable, panics, redelivered       atomic.Uint64
}

// New makes a Processor. It panics on a nil handler and on a Config that makes
// no sense.
func New[R any, ID Identifier](src Source[R, ID], handler Handler[R], cfg Config[R]) *Processor[R, ID] {
	if handler == nil {
		panic("lambdaids: New: the handler is nil")
	}
	if src.id == nil {
		panic("lambdaids: New: the source is the zero Source: make one with DynamoDB, Kinesis, SQS, SQSFIFO or Kafka")
	}
	cfg.validate()
	return &Processor[R, ID]{src: src, handler: handler, cfg: cfg, policy: cfg.Unreportable.resolve(src.kind)}
}

// Process handles recs and gives the answer for them. Return both to Lambda: the
// error, a *BatchError, makes it retry the whole batch.
func (p *Processor[R, ID]) Process(ctx context.Context, recs []R) (Response[ID], error) {
	b, _ := p.spare.Get().(*pass[R, ID])
	if b == nil {
		b = new(pass[R, ID])
	}
	l := &b.ledger
	*l = ledger[R, ID]{
		src: p.src, recs: recs, policy: p.policy, all: p.cfg.AllFailed,
		whole:  p.src.kind == SQSFIFOQueue && p.cfg.AfterFailure == StopAll,
		states: zeroed(l.states, len(recs)),
	}
	work := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		work, cancel = context.WithDeadline(ctx, deadline.Add(-p.cfg.margin(time.Until(deadline))))
		defer cancel()
	}
	var first int
	if p.cfg.Concurrency > 1 && len(recs) > 1 {
		first = p.concurrent(work, l, &b.lanes)
	} else {
		first = p.sequential(work, l)
	}
	resp, err := l.answer(first)
	p.tell(ctx, l, err, first)
	*l = ledger[R, ID]{states: l.states} // keeps nothing of the event
	p.spare.Put(b)
	return resp, err
}

// pass is what one batch needs, kept for the next one.
type pass[R any, ID Identifier] struct {
	ledger ledger[R, ID]
	lanes  lanes
}

func zeroed(s []State, n int) []State {
	if cap(s) < n {
		return make([]State, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// sequential runs the records in order and returns the first unsettled one.
func (p *Processor[R, ID]) sequential(ctx context.Context, l *ledger[R, ID]) int {
	n := len(l.recs)
	first := n
	var blocked map[string]struct{} // groups with a failure, where the rest goes on
	for i := 0; i < n; {
		upTo := n
		if blocked != nil {
			if _, skip := blocked[l.src.group(&l.recs[i])]; skip {
				i++
				continue
			}
			upTo = i + 1
		}
		at, err := p.run(ctx, l.recs[:upTo], i)
		fill(l.states[i:at], Done)
		if at == upTo {
			i = at
			continue
		}
		if err == errStopped {
			return min(first, at)
		}
		i = at + 1
		state, err := p.settle(ctx, l.recs, at, err)
		if l.mark(at, state, err) {
			continue
		}
		first = min(first, at)
		if p.cfg.AfterFailure == StopAll || (p.cfg.AfterFailure == Stop && l.src.kind.Rewinds()) {
			return first
		}
		if p.cfg.AfterFailure == Stop && l.src.group != nil {
			if blocked == nil {
				blocked = make(map[string]struct{})
			}
			blocked[l.src.group(&l.recs[at])] = struct{}{}
		}
	}
	return first
}

// fill sets all of s, by doubling: a loop would cost a nanosecond a record.
func fill(s []State, to State) {
	if len(s) == 0 {
		return
	}
	s[0] = to
	for k := 1; k < len(s); k *= 2 {
		copy(s[k:], s[:k])
	}
}

// errStopped says that ctx ended before a record was started.
var errStopped = errors.New("lambdaids: stopped")

// run hands records to the handler until one fails; it returns where it got and
// that record's error. One recover serves the whole run, so that a record that
// succeeds costs nothing here but the call.
func (p *Processor[R, ID]) run(ctx context.Context, recs []R, from int) (at int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	for at = from; at < len(recs); at++ {
		if ctx.Err() != nil { // an atomic load, where a select takes thrice as long
			return at, errStopped
		}
		if err := p.handler(ctx, &recs[at]); err != nil {
			return at, err
		}
	}
	return at, nil
}

// settle ends a record whose first attempt failed with err: by further attempts,
// by the dead-letter func, or as failed.
func (p *Processor[R, ID]) settle(ctx context.Context, recs []R, i int, err error) (State, error) {
	for attempt := 2; attempt <= p.cfg.MaxAttempts && !IsPermanent(err); attempt++ {
		p.pause(ctx, attempt)
		_, again := p.run(ctx, recs[:i+1], i)
		switch again {
		case nil:
			return Done, nil
		case errStopped:
			return Failed, err // out of time, not out of attempts: no dead letter
		}
		err = again
	}
	if p.cfg.DeadLetter != nil && (p.cfg.MaxAttempts > 0 || IsPermanent(err)) && ctx.Err() == nil {
		dlErr := p.deadLetter(ctx, &recs[i], err)
		if dlErr == nil {
			return DeadLettered, nil
		}
		err = errors.Join(err, dlErr)
	}
	return Failed, err
}

func (p *Processor[R, ID]) deadLetter(ctx context.Context, rec *R, cause error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return p.cfg.DeadLetter(ctx, rec, cause)
}

// pause waits before an attempt, at most until ctx ends.
func (p *Processor[R, ID]) pause(ctx context.Context, attempt int) {
	if p.cfg.Backoff == nil {
		return
	}
	t := time.NewTimer(p.cfg.Backoff(attempt))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// tell counts, logs and calls the hooks, in the caller's goroutine.
func (p *Processor[R, ID]) tell(ctx context.Context, l *ledger[R, ID], err error, first int) {
	p.stats.batches.Add(1)
	if first == len(l.recs) && p.cfg.OnBatch == nil && !l.letters {
		p.stats.done.Add(uint64(len(l.recs)))
		return
	}
	r := l.report(err)
	p.stats.add(r.stats())

	log := p.cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	for _, u := range l.unreport {
		log.WarnContext(ctx, "lambdaids: a failed record cannot be reported",
			"source", l.src.kind.String(), "record", u.Index, "policy", p.policy.String(), "err", u.Err)
		if p.cfg.OnUnreportable != nil {
			p.cfg.OnUnreportable(ctx, &l.recs[u.Index], u.Err)
		}
	}
	if r.Failed > 0 && p.cfg.OnFailed == nil {
		i := 0
		for l.states[i] != Failed {
			i++
		}
		log.WarnContext(ctx, "lambdaids: records failed and will be delivered again",
			"source", l.src.kind.String(), "failed", r.Failed, "unprocessed", r.Unprocessed, "record", i, "err", l.errs[i])
	}
	if p.cfg.OnFailed != nil {
		for i, s := range l.states {
			if s == Failed {
				p.cfg.OnFailed(ctx, &l.recs[i], l.errs[i])
			}
		}
	}
	if p.cfg.OnBatch != nil {
		p.cfg.OnBatch(ctx, r)
	}
}

// Add is the sum of both.
func (s Stats) Add(o Stats) Stats {
	return Stats{
		Batches: s.Batches + o.Batches, WholeBatch: s.WholeBatch + o.WholeBatch,
		Done: s.Done + o.Done, Failed: s.Failed + o.Failed,
		Unprocessed: s.Unprocessed + o.Unprocessed, DeadLettered: s.DeadLettered + o.DeadLettered,
		Unreportable: s.Unreportable + o.Unreportable, Panics: s.Panics + o.Panics, Redelivered: s.Redelivered + o.Redelivered,
	}
}

// Stats reports the counters.
func (p *Processor[R, ID]) Stats() Stats {
	c := &p.stats
	return Stats{
		Batches: c.batches.Load(), WholeBatch: c.whole.Load(),
		Done: c.done.Load(), Failed: c.failed.Load(), Unprocessed: c.unprocessed.Load(), DeadLettered: c.deadLettered.Load(),
		Unreportable: c.unreportable.Load(), Panics: c.panics.Load(), Redelivered: c.redelivered.Load(),
	}
}

func (c *counters) add(r Stats) {
	c.whole.Add(r.WholeBatch)
	c.done.Add(r.Done)
	c.failed.Add(r.Failed)
	c.unprocessed.Add(r.Unprocessed)
	c.deadLettered.Add(r.DeadLettered)
	c.unreportable.Add(r.Unreportable)
	c.panics.Add(r.Panics)
	c.redelivered.Add(r.Redelivered)
}
