package streamreader

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/time/rate"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/tracker"
)

// Batch is records of one shard, in order. They are the caller's.
type Batch struct {
	ShardID string
	Records []types.Record
	// Last is the position of the batch: the sequence number that becomes the
	// shard's position when this batch and all before it are settled.
	Last shards.SequenceNumber
}

// Reader reads one stream for one pipeline.
type Reader struct {
	cfg      Config
	label    string
	prefix   string // of this stream's partitions
	flight   *flight
	describe *rate.Limiter
	callRate *rate.Limiter
	out      chan delivery
	kick     chan struct{} // a shard ended: list again soon

	start      sync.Once
	reading    context.Context // ends with Stop, and with the first terminal error
	stop       context.CancelFunc
	goroutines sync.WaitGroup
	positioned chan struct{}
	delivered  atomic.Int64 // handed out and not settled
	settled    chan struct{}

	mu      sync.Mutex
	lineage *shards.Lineage
	shards  map[string]*shard
	rows    map[string]checkpoint.Checkpoint // found at the start, by shard
	ended   map[string]time.Time             // last event, or completion, of ended shards
	cutoff  time.Time                        // see shards.Evidence
	began   time.Time                        // the origin's time, in the clock where it was taken
	created time.Time                        // of the stream; nothing in it is older
	// The first discovery, while it lasts, if it has a Freshness.
	fresh      bool
	freshUntil time.Time
	pending    int // fresh shards without an iterator; 1 more until the first listing ended
	disc       discovery
	unlisted   map[string]time.Time // of the discovery's goroutine, see unlistedFor
	elsewhere  bool                 // likewise: what there is of rows is another stream's, see younger
	low        struct {             // likewise
		part *checkpoint.Partition[time.Time]
		at   time.Time
	}
	err     error
	stopped bool
}

type delivery struct {
	batch  Batch
	shard  *shard
	ticket tracker.Ticket[checkpoint.At[position]]
	weight weight
}

// New checks the config. It does no I/O and starts nothing.
func New(cfg Config) (*Reader, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	began := cfg.Origin.Time
	if cfg.Failover != nil && cfg.Origin.Source != "" && cfg.Origin.Source != cfg.StreamARN && !cfg.Origin.Time.IsZero() {
		cfg.Origin.Time = cfg.Origin.Time.Add(-cfg.Failover.Margin) // it is in another region's clock
	}
	ctx, stop := context.WithCancel(context.Background())
	l := label(cfg.StreamARN)
	return &Reader{
		cfg:        cfg,
		label:      l,
		prefix:     "stream/" + l + "/",
		began:      began,
		flight:     newFlight(weight{cfg.MaxRecords, cfg.MaxBytes}, cfg.ShardShare, cfg.Parallel),
		describe:   rate.NewLimiter(rate.Limit(cfg.DescribeRate), 1),
		callRate:   rate.NewLimiter(rate.Limit(cfg.CallRate), 1),
		out:        make(chan delivery),
		kick:       make(chan struct{}, 1),
		reading:    ctx,
		stop:       stop,
		positioned: make(chan struct{}),
		settled:    make(chan struct{}, 1),
		lineage:    shards.NewLineage(cfg.Order),
		shards:     make(map[string]*shard),
		rows:       make(map[string]checkpoint.Checkpoint),
		pending:    1,
		ended:      make(map[string]time.Time),
	}, nil
}

// Read returns the next batch and its acknowledgement. The first call starts
// the reader; ctx bounds the call alone.
//
// The acknowledgement with a nil error says that the batch was delivered (or
// deliberately dropped); with an error that it was not: it then holds the
// shard's progress back until it is acked after all. It never waits. Repeating
// it changes nothing; ErrStale says that it came after the end of the attempt.
//
// Read's own error is ctx's, ErrStopped, ErrStreamEnded, or what ended the
// reader for good: a shards.Gap, checkpoint.ErrFenced, ErrStreamGone,
// ErrGivenUp, ErrTerminal.
func (r *Reader) Read(ctx context.Context) (Batch, func(context.Context, error) error, error) {
	if err := ctx.Err(); err != nil {
		return Batch{}, nil, err
	}
	r.start.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped { // else Close may be waiting already
			r.spawn(r.discover)
		}
	})
	select {
	case d := <-r.out:
		r.delivered.Add(1)
		return d.batch, r.ack(d), nil
	case <-ctx.Done():
		return Batch{}, nil, ctx.Err()
	case <-r.reading.Done():
		return Batch{}, nil, r.Err()
	}
}

// ack is made for one delivery; the ticket itself knows repetition.
func (r *Reader) ack(d delivery) func(context.Context, error) error {
	var acked atomic.Bool
	return func(_ context.Context, err error) error {
		if acked.Load() {
			return nil
		}
		if err != nil {
			if !d.ticket.Nack(err) && !acked.Load() {
				return d.shard.stale()
			}
			d.shard.nacked.Add(1)
			return nil
		}
		took := d.ticket.Ack()
		if !acked.CompareAndSwap(false, true) {
			return nil
		}
		// The room is given back for a stale ack too: the page is the caller's
		// no longer.
		r.flight.settle(d.shard.seat, d.weight)
		if r.delivered.Add(-1) == 0 {
			select {
			case r.settled <- struct{}{}:
			default:
			}
		}
		if !took {
			return d.shard.stale()
		}
		d.shard.ackedAt.Store(r.cfg.Now().UnixNano())
		return nil
	}
}

// Positioned is closed once the first discovery is done and every shard that
// starts at LATEST has its iterator: what is written from then on is owed
// to a pipeline that starts at latest.
func (r *Reader) Positioned() <-chan struct{} { return r.positioned }

// Err is what ended the reader: nil while it runs.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && r.stopped {
		return ErrStopped
	}
	return r.err
}

// Stop ends reading. What was handed out can still be acked; what was read and
// not handed out is dropped, and read again by the next Reader.
func (r *Reader) Stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.stop()
}

// Drain stops, waits until every batch that was handed out is acked, and makes
// the progress durable. A nacked batch is waited for as well. The error is
// ctx's, or why progress could not be saved; then, as after Close, late
// acknowledgements are stale.
func (r *Reader) Drain(ctx context.Context) error {
	r.Stop()
	r.goroutines.Wait()
	for r.delivered.Load() > 0 {
		select {
		case <-r.settled:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), r.Close(ctx))
		}
	}
	return r.Close(ctx)
}

// Close stops, waits for the reader's goroutines, saves what is settled and
// gives the shards up. It may be called more than once.
func (r *Reader) Close(ctx context.Context) error {
	r.Stop()
	r.goroutines.Wait()
	r.mu.Lock()
	var open []*shard
	for _, s := range r.shards {
		open = append(open, s)
	}
	clear(r.shards)
	r.mu.Unlock()

	// One Flush saves all shards side by side; without it each Release would
	// wait for its own save.
	var errs []error
	if len(open) > 0 {
		if err := r.cfg.Committer.Flush(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range open {
		if s.part == nil {
			continue
		}
		if err := s.part.Release(ctx); err != nil && !errors.Is(err, checkpoint.ErrFenced) {
			errs = append(errs, err)
		}
	}
	if low := r.low.part; low != nil {
		r.low.part = nil
		if err := low.Release(ctx); err != nil && !errors.Is(err, checkpoint.ErrFenced) {
			errs = append(errs, err)
		}
	}
	return errors.Join(dedup(errs)...)
}

// dedup keeps one of each text: an unreachable store says the same of each shard.
func dedup(errs []error) []error {
	seen := make(map[string]bool)
	var out []error
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return out
}

// fail ends the reader with its first terminal error.
func (r *Reader) fail(err error) {
	r.mu.Lock()
	if r.err == nil && !r.stopped {
		r.err = err
	}
	r.mu.Unlock()
	r.stop()
}

// spawn runs f in a goroutine that Close waits for. Its error, unless it is our
// own end, ends the reader.
func (r *Reader) spawn(f func(context.Context) error) {
	r.goroutines.Go(func() {
		if err := f(r.reading); err != nil && r.reading.Err() == nil {
			r.fail(err)
		}
	})
}

// gap reports a gap and applies the policy: a nil error means to go on.
func (r *Reader) gap(g shards.Gap) error {
	g.Stream = r.label
	r.cfg.Logger.Warn("streamreader: records were lost before they were read",
		"shard", g.Shard, "after", g.After, "before", g.Before, "gone", g.Gone)
	if r.cfg.OnGap != nil {
		r.cfg.OnGap(g)
	}
	if r.cfg.Gap == ContinueOn {
		return nil
	}
	return g
}

func wait(ctx context.Context, l *rate.Limiter) error {
	if l.Limit() == rate.Inf {
		return ctx.Err()
	}
	// Not Limiter.Wait: it fails at once when the wait would outlast ctx's
	// deadline, with an error of its own.
	res := l.Reserve()
	if err := pause(ctx, res.Delay()); err != nil {
		res.Cancel()
		return err
	}
	return nil
}
