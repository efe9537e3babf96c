package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// RedeliverConfig sets up Redeliver. The zero value tries for ever, treats all
// batches as one partition and hands them out one at a time.
type RedeliverConfig[B any] struct {
	// Partition names the sequence a batch belongs to: order is kept within
	// it. Segments and shards have different names, so both phases have lists
	// of their own. Default: all batches are one partition.
	Partition func(B) string
	// PerPartition is how many batches of one partition may be out at once.
	// 1 keeps their order under every failure. With more, a batch that was
	// already out when an earlier one failed may be delivered before it.
	// Default 1.
	PerPartition int
	// MaxAttempts is how often a batch is handed out before it is given up.
	// Default 0: for ever.
	MaxAttempts int
	// DeadLetter takes a batch that was given up. nil: the batch is settled as
	// discarded. An error: the batch is handed out once more, so that its dead
	// letter is neither lost nor its partition pinned. If DeadLetter is not set,
	// the nack goes to the reader below, whose policy decides.
	DeadLetter func(ctx context.Context, b B, err error, attempts int) error
	// Backoff paces the attempts of one batch. Default 100 ms to 30 s.
	Backoff Backoff
	// MaxHeld bounds the batches in memory: out, waiting for another attempt, or
	// waiting for their partition. At the bound Read reads no further, and
	// returns ErrFlush while nothing settles. Default 1024.
	MaxHeld int
	// FlushEvery is the pause between two ErrFlush. Default 1 s.
	FlushEvery time.Duration
	// OnRetry, if set, is told of each failure that will be tried again.
	OnRetry func(b B, err error, attempts int, pause time.Duration)
}

// Redelivering hands nacked batches out again. It is the outermost layer: around
// Runner.Read, or any ReadFunc.
//
// A batch has one owner at a time: the caller from Read to its AckFunc, this
// reader otherwise. Each handout has an AckFunc of its own; those of earlier
// handouts return ErrStale.
type Redelivering[B any] struct {
	cfg  RedeliverConfig[B]
	read ReadFunc[B]
	now  func() time.Time

	ctx    context.Context // of the reads below; ended by Close
	cancel context.CancelFunc

	reading chan struct{} // Read's lock
	flush   schedule      // under it
	pending chan result[B]
	asked   bool // a read below is under way; its answer comes in pending

	mu    sync.Mutex
	lanes lanes[B]
	over  bool
	moved chan struct{} // room for one: something changed
}

// Redeliver wraps read; it does no I/O and starts nothing.
func Redeliver[B any](read ReadFunc[B], cfg RedeliverConfig[B]) (*Redelivering[B], error) {
	if read == nil {
		return nil, errors.New("backfill: Redeliver needs a ReadFunc")
	}
	cfg.Backoff.setDefaults()
	if err := cfg.Backoff.validate(); err != nil {
		return nil, err
	}
	if cfg.PerPartition < 0 || cfg.MaxAttempts < 0 || cfg.MaxHeld < 0 || cfg.FlushEvery < 0 {
		return nil, errors.New("backfill: a number of RedeliverConfig is negative")
	}
	if cfg.PerPartition == 0 {
		cfg.PerPartition = 1
	}
	if cfg.MaxHeld == 0 {
		cfg.MaxHeld = 1024
	}
	if cfg.FlushEvery == 0 {
		cfg.FlushEvery = time.Second
	}
	if cfg.Partition == nil {
		cfg.Partition = func(B) string { return "" }
	}
	d := &Redelivering[B]{
		cfg: cfg, read: read, now: time.Now,
		reading: make(chan struct{}, 1),
		pending: make(chan result[B], 1),
		moved:   make(chan struct{}, 1),
		flush:   schedule{every: cfg.FlushEvery},
		lanes:   newLanes[B](cfg.PerPartition),
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Read returns a batch whose turn has come: one to try again, one that waited
// for its partition, or a new one from below. Errors from below are returned
// once each. Cancelling ctx does not cancel the read below; its answer is kept
// for the next Read.
func (d *Redelivering[B]) Read(ctx context.Context) (b B, ack AckFunc, err error) {
	select {
	case d.reading <- struct{}{}:
		defer func() { <-d.reading }()
	case <-ctx.Done():
		return b, nil, ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return b, nil, err
		}
		d.mu.Lock()
		if d.over {
			d.mu.Unlock()
			return b, nil, ErrStopped
		}
		now := d.now()
		item, wait := d.lanes.next(now)
		full := d.lanes.held >= d.cfg.MaxHeld
		d.mu.Unlock()
		if item != nil {
			d.flush = schedule{every: d.cfg.FlushEvery}
			return item.b, d.handout(item, item.attempts), nil
		}

		if !full {
			d.ask()
		} else if wait == 0 {
			// Everything held is out downstream.
			if due := d.flush.due(now); due > 0 {
				wait = due
			} else {
				d.flush.sent(now)
				return b, nil, ErrFlush
			}
		}
		if err := d.await(ctx, wait); err != nil {
			return b, nil, err
		}
	}
}

// ask starts one read below unless one is under way. It is a goroutine because
// a batch to be tried again must not wait for news from below.
func (d *Redelivering[B]) ask() {
	if d.asked {
		return
	}
	d.asked = true
	go func() {
		var res result[B]
		res.b, res.ack, res.err = d.read(d.ctx)
		d.pending <- res
	}()
}

// await waits for an answer from below, for something to change, or for wait
// (0: no limit).
func (d *Redelivering[B]) await(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case res := <-d.pending:
		d.asked = false
		if res.err != nil {
			return res.err
		}
		it := &item[B]{b: res.b, ack: res.ack, lane: d.cfg.Partition(res.b)} // theirs: not under the lock
		d.mu.Lock()
		d.lanes.add(it)
		d.mu.Unlock()
	case <-d.moved:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.ctx.Done():
		return ErrStopped
	}
	return nil
}

// handout is the AckFunc of one handout.
func (d *Redelivering[B]) handout(it *item[B], attempt int) AckFunc {
	return func(ctx context.Context, err error) error {
		d.mu.Lock()
		if it.attempts != attempt || it.state != itemOut {
			d.mu.Unlock()
			return ErrStale
		}
		it.state = itemDeciding // owned by this call; no lock across what follows
		d.mu.Unlock()

		if err != nil && !Discarded(err) {
			return d.failed(ctx, it, err)
		}
		return d.finish(ctx, it, err)
	}
}

// finish passes the last word below, outside the lock: a slow store below holds
// up only this batch.
func (d *Redelivering[B]) finish(ctx context.Context, it *item[B], word error) error {
	var err error
	if it.ack != nil {
		err = it.ack(ctx, word)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, ErrAttemptOver) && (word == nil || Discarded(word)) {
		it.state = itemOut // may be acked again
		return err
	}
	d.lanes.remove(it)
	d.pokeLocked()
	return err
}

func (d *Redelivering[B]) failed(ctx context.Context, it *item[B], err error) error {
	attempts := it.attempts // once it is given back, the next handout counts on
	if d.cfg.MaxAttempts > 0 && attempts >= d.cfg.MaxAttempts {
		if d.cfg.DeadLetter == nil {
			return d.finish(ctx, it, err)
		}
		derr := d.cfg.DeadLetter(ctx, it.b, err, attempts)
		if derr == nil {
			return d.finish(ctx, it, Discard(err))
		}
		if Discarded(derr) {
			derr = errors.New(derr.Error()) // or the nack would pass for a discard below
		}
		err = fmt.Errorf("backfill: the dead letter failed: %w (of: %w)", derr, err)
	}
	pause := d.cfg.Backoff.Pause(attempts)
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		// Nobody will hand it out again: the reader below learns of the nack.
		return d.finish(ctx, it, err)
	}
	it.err = err
	d.lanes.retry(it, d.now().Add(pause))
	d.pokeLocked()
	d.mu.Unlock()
	if d.cfg.OnRetry != nil {
		d.cfg.OnRetry(it.b, err, attempts, pause)
	}
	return nil
}

func (d *Redelivering[B]) pokeLocked() {
	select {
	case d.moved <- struct{}{}:
	default:
	}
}

// Close ends Read, waits until every batch that is out got its last word or ctx
// ended, and passes a nack below for each that waited for another attempt: they
// come again in the next attempt. Close it before the reader below.
func (d *Redelivering[B]) Close(ctx context.Context) error {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	d.cancel()
	select {
	case d.reading <- struct{}{}:
		defer func() { <-d.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.asked {
		// Read and never handed out: unsettled, so it comes again too.
		select {
		case res := <-d.pending:
			d.asked = false
			if res.err == nil && res.ack != nil {
				_ = res.ack(ctx, ErrStopped)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		d.mu.Lock()
		idle := d.lanes.idle()
		out := d.lanes.held - len(idle)
		d.mu.Unlock()
		for _, it := range idle {
			word := it.err
			if word == nil {
				word = ErrStopped
			}
			_ = d.finish(ctx, it, word)
		}
		if out == 0 {
			return nil
		}
		select {
		case <-d.moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// RedeliverStats is one moment of a Redelivering.
type RedeliverStats struct {
	Held, Out, Waiting int // Held = Out + Waiting
}

// Stats reports what is held.
func (d *Redelivering[B]) Stats() RedeliverStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.lanes.idle())
	return RedeliverStats{Held: d.lanes.held, Out: d.lanes.held - n, Waiting: n}
}
