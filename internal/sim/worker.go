package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

const (
	table       = "orders"
	pipeline    = "orders-to-sink"
	backoffMax  = 2 * time.Second
	saveTimeout = 3 * time.Second
)

// attempt is one life of a worker.
type attempt struct {
	world   *world
	n       int
	name    string
	arn     string // of the stream as it was when the life began
	service *streamtest.Service
	set     settings
	word    string // asks for a new backfill
	process *process
	sink    sink

	ctx       context.Context // of its life
	cancel    context.CancelFunc
	ready     chan struct{} // connect has returned
	done      chan struct{} // the loop is over
	over      chan struct{} // everything is cleaned up
	closing   sync.Once
	err       error // what ended the loop
	drainErr  error
	committer *checkpoint.Committer
	runner    *backfill.Runner[batch]
	redeliver *backfill.Redelivering[batch]
	scan      *tablescan.Scanner
	stream    *streamreader.Reader
	run       backfill.Run

	mu        sync.Mutex
	calls     map[string]int    // made, by name and target
	iterators map[string]string // to their shards

	numbers int // of the batches handed out

	book // the oracle's
}

// start begins a life.
func (w *world) start(set settings) *attempt {
	a := &attempt{
		world: w, n: w.attempts, name: attemptName(w.attempts), arn: w.arn, service: w.service, set: set, word: w.word,
		process: newProcess(), ready: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
		calls: map[string]int{}, iterators: map[string]string{}, book: newBook(),
	}
	w.attempts++
	a.sink.a = a
	a.ctx, a.cancel = context.WithCancel(context.Background())
	w.oracle.began(a)
	w.log("attempt %d starts: %+v", a.n, set)
	opts := []checkpoint.Option{
		checkpoint.Interval(set.Interval), checkpoint.Parallel(set.Parallel), checkpoint.EveryWeight(set.EveryWeight),
		checkpoint.Backoff(50*time.Millisecond, backoffMax), checkpoint.SaveTimeout(saveTimeout),
		checkpoint.Owner(a.name), checkpoint.Logger(slog.New(slog.DiscardHandler)),
	}
	a.committer = checkpoint.NewCommitter(remote{a, w.store}, pipeline, opts...)
	go func() {
		defer close(a.done)
		a.err = a.live()
		w.log("attempt %d ends: %v", a.n, a.err)
	}()
	return a
}

// live runs the pipeline as a program would.
func (a *attempt) live() error {
	err := a.connect()
	close(a.ready)
	if err != nil {
		return err
	}
	read := a.runner.Read
	if a.redeliver != nil {
		read = a.redeliver.Read
	}
	for {
		ctx, cancel := context.WithTimeout(a.ctx, 20*time.Second)
		b, ack, err := read(ctx)
		cancel()
		switch {
		case err == nil:
			a.numbers++
			h := &handout{batch: b, number: a.numbers, ack: ack}
			a.world.oracle.handed(a, h)
			a.sink.take(h)
		case a.process.isDead(), a.ctx.Err() != nil:
			return errDead
		case errors.Is(err, context.DeadlineExceeded):
		case errors.Is(err, backfill.ErrFlush):
			a.sink.flush()
		case final(err):
			return err
		default: // worth another Read
			if !a.sleep(300 * time.Millisecond) {
				return errDead
			}
		}
	}
}

// final errors end an attempt.
func final(err error) bool {
	for _, e := range []error{
		backfill.ErrStopped, backfill.ErrSuperseded, backfill.ErrDisplaced, backfill.ErrNacked, backfill.ErrPlan, backfill.ErrIncomplete,
		backfill.ErrAnchorLost, backfill.ErrEnd, checkpoint.ErrFenced, shards.ErrGap, streamreader.ErrStopped, streamreader.ErrStreamEnded,
		streamreader.ErrStreamGone, streamreader.ErrGivenUp, streamreader.ErrTerminal, tablescan.ErrTableGone, tablescan.ErrTableReplaced,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// foreseen are the ends that a healthy pipeline may come to in this world; the
// operator starts it again.
func foreseen(err error) bool {
	for _, e := range []error{errDead, backfill.ErrStopped, backfill.ErrSuperseded, backfill.ErrDisplaced, backfill.ErrNacked, backfill.ErrAnchorLost, checkpoint.ErrFenced, shards.ErrGap} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// connect joins the packages.
func (a *attempt) connect() (err error) {
	cfg := backfill.Config{Nack: a.set.Nack, Retention: a.world.script.Retention, Restart: a.word, Committer: a.committer}
	if !a.world.script.Backfill {
		cfg.Mode, cfg.Restart = backfill.StreamOnlyMode, ""
		if err := a.beginStream(); err != nil {
			return err
		}
		a.runner, err = backfill.New(backfill.StreamOnly(a.ReadStream), cfg)
	} else {
		if a.world.script.Overlap {
			cfg.Handoff = backfill.Overlap
		}
		a.scan, err = tablescan.New(tablescan.Config{
			Client: tables{a.service.Dynamo(), a}, Table: table,
			Segments: a.set.Segments, Limit: a.set.Limit, MaxInFlight: a.set.InFlight,
			Retry: backfill.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second},
		})
		if err != nil {
			return err
		}
		a.runner, err = backfill.New[batch](a, cfg)
	}
	if err == nil && a.set.Redeliver {
		a.redeliver, err = backfill.Redeliver(a.runner.Read, backfill.RedeliverConfig[batch]{
			Partition: func(b batch) string { return b.partition },
			Backoff:   backfill.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second},
		})
	}
	return err
}

// beginStream finds the origin and makes the reader.
func (a *attempt) beginStream() error {
	s := a.world.script
	o := checkpoint.Origin{Start: a.set.Start, Time: a.service.Time(), Source: a.arn}
	for {
		ctx, cancel := context.WithTimeout(a.ctx, 5*time.Second)
		origin, fresh, err := checkpoint.Begin(ctx, a.committer.Store(), pipeline, o)
		cancel()
		if err == nil {
			if !s.Fresh {
				fresh = nil
			}
			a.stream, err = a.newReader(origin, fresh)
			if err == nil {
				a.world.oracle.originIs(a, origin, fresh)
			}
			return err
		}
		if !a.sleep(500 * time.Millisecond) {
			return errDead
		}
	}
}

func (a *attempt) newReader(o checkpoint.Origin, fresh *checkpoint.Freshness) (*streamreader.Reader, error) {
	cfg := streamreader.Config{
		Client: streams{a.service.Streams(), a}, StreamARN: a.arn, Committer: a.committer,
		Origin: o, Fresh: fresh, ByTime: a.set.ByTime, Order: a.set.Order,
		MaxRecords: a.set.MaxRecords, PageLimit: a.set.PageLimit,
		Poll: a.set.Poll, IdlePoll: 4 * time.Second, Discovery: 10 * time.Second,
		Retention: a.world.script.Retention,
		OnGap:     func(g shards.Gap) { a.world.oracle.gap(a, g) },
	}
	if a.world.script.Failover {
		cfg.Failover = &streamreader.Failover{Margin: a.world.script.Margin}
	}
	if !a.set.Stop {
		cfg.Gap = streamreader.ContinueOn
	}
	return streamreader.New(cfg)
}

// kill ends the process at once. Its goroutines are cleaned up, but nothing of
// what they still do leaves it.
func (a *attempt) kill() {
	a.process.kill()
	a.end(0)
}

// drain ends in good order, as far as the store lets it.
func (a *attempt) drain(limit time.Duration) { a.end(limit) }

func (a *attempt) end(limit time.Duration) {
	a.closing.Do(func() {
		a.world.oracle.ended(a, limit == 0)
		go func() {
			defer close(a.over)
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			if limit == 0 {
				cancel()
			}
			a.close(ctx)
		}()
	})
}

// close ends everything that an attempt started.
func (a *attempt) close(ctx context.Context) {
	graceful := ctx.Err() == nil
	if !graceful {
		a.cancel()
	}
	select {
	case <-a.ready:
	case <-ctx.Done():
		a.cancel()
		<-a.ready
	}
	var errs []error
	if a.runner != nil {
		a.runner.Stop()
		select {
		case <-a.done:
		case <-ctx.Done():
		}
		a.sink.flush()
		if a.redeliver != nil {
			errs = append(errs, a.redeliver.Close(ctx))
		}
		errs = append(errs, a.runner.Close(ctx))
		if a.scan == nil {
			errs = append(errs, a.stream.Close(ctx))
		}
	}
	errs = append(errs, a.committer.Close(ctx))
	a.drainErr = errors.Join(errs...)
	a.process.kill()
	a.cancel()
	<-a.done
	a.sink.flush()
	a.sink.busy.Wait()
}

// sleep is false if the life ends first.
func (a *attempt) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.process.dead:
	case <-a.ctx.Done():
	}
	return false
}
