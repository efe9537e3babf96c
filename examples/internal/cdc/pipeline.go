package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamreader"
)

// pipeline is one run: table and stream on one end, the output on the other,
// and between them the rows that say how far it got.
type pipeline struct {
	o         Options
	source    *source
	feed      *feed
	committer *checkpoint.Committer
	runner    *backfill.Runner[batch]
	writer    *jsonl.Writer

	rows, changes, inFlight atomic.Int64
	shards                  atomic.Int64           // being read, when last looked at
	failing                 atomic.Pointer[string] // why progress is not saved
}

// Run runs the pipeline until ctx ends, which is a success, or something
// breaks. It checks everything that the user gave before it reads anything.
func Run(ctx context.Context, o Options, stderr io.Writer) error {
	source, err := openSource(ctx, o)
	if err != nil {
		return stopped(ctx, err)
	}
	out, err := jsonl.Open(o.Out)
	if err != nil {
		return invalidErr(err, "give -out a file that this user may write, or -", "output %s cannot be written (%v)", o.Out, err)
	}
	defer out.Close()
	if n := out.Torn(); n > 0 {
		fmt.Fprintf(stderr, "ddbcdc: removed a torn last line of %d bytes from %s: it was never acked and comes again\n", n, o.Out)
	}
	p := &pipeline{o: o, source: source}
	if err := again(ctx, passing, func() error { return p.connect(ctx) }); err != nil {
		return stopped(ctx, p.explain(err))
	}
	p.writer = jsonl.Start(out, jsonl.Config{Linger: o.Linger})

	stop := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() { newDisplay(stderr, o.Progress).run(stop, p.status) })
	hard, cancel := deadline(ctx, o.DrainTimeout)
	defer cancel()
	err = p.copy(ctx, hard)
	if left := p.drain(hard, err); err == nil {
		err = left // else it is a consequence, and would hide the cause
	}
	close(stop)
	showing.Wait()
	return p.explain(err)
}

// connect joins the packages. Nothing is read yet.
func (p *pipeline) connect(ctx context.Context) error {
	if err := dynamostore.EnsureTable(ctx, p.source.tables, p.o.CheckpointTable); err != nil {
		return err
	}
	store := dynamostore.New(p.source.tables, p.o.CheckpointTable)
	if err := checkPipeline(ctx, store, p.o); err != nil {
		return err
	}
	start := p.o.Start
	if p.o.Backfill {
		start = checkpoint.StartTrimHorizon // the backfill's plan says where the stream starts
	}
	origin, fresh, err := checkpoint.Begin(ctx, store, p.o.Pipeline, checkpoint.Origin{Start: start, Time: p.source.now, Source: p.source.streamARN})
	if err != nil {
		return err
	}
	if err := sameSource(p.o, origin.Source, p.source.streamARN); err != nil {
		return err
	}
	p.committer = checkpoint.NewCommitter(store, p.o.Pipeline, checkpoint.Interval(p.o.CommitInterval), checkpoint.WithHooks(p.hooks()))

	stream := streamreader.Config{Client: p.source.streams, StreamARN: p.source.streamARN, Committer: p.committer, Discovery: p.o.Discovery}
	p.feed = &feed{source: p.source, open: func(o checkpoint.Origin) (*streamreader.Reader, error) {
		stream.Origin = o
		return streamreader.New(stream)
	}}
	if !p.o.Backfill {
		stream.Fresh = fresh
		reader, err := p.feed.open(origin)
		if err != nil {
			return err
		}
		p.feed.stream.Store(reader)
		p.runner, err = backfill.New(backfill.StreamOnly(p.feed.ReadStream), backfill.Config{Mode: backfill.StreamOnlyMode})
		return err
	}
	p.feed.scan, err = tablescan.New(tablescan.Config{
		Client: p.source.tables, Table: p.o.Table, Segments: p.o.Segments, Limit: int32(p.o.PageSize),
	})
	if err != nil {
		return err
	}
	p.runner, err = backfill.New[batch](p.feed, backfill.Config{
		Committer: p.committer,
		Retention: 24 * time.Hour, // of every DynamoDB stream
		// The output writes after -linger at the latest: nothing to flush.
		Flush: func(context.Context) error { return nil },
	})
	return err
}

// deadline is a context that ends so long after ctx does.
func deadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, cancel) })
	return hard, func() { stop(); cancel() }
}

// copy moves batches from the source to the output until ctx ends. It never
// acks: the output does, when a batch is safe.
func (p *pipeline) copy(ctx, hard context.Context) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // until the writer fails, or is closed by drain
		<-p.writer.Failed()
		cancel() // with everything in flight unacked, Read would wait for ever
	}()
	for failures := 0; ; {
		b, ack, err := p.runner.Read(reading)
		switch {
		case err == nil:
			failures = 0
			p.inFlight.Add(1)
			// Not with ctx: what was read before a stop is still delivered.
			err = p.writer.Append(hard, b.lines, p.settle(b, ack))
			if hard.Err() != nil {
				return nil
			}
			if err != nil {
				return errors.Join(&outputError{p.o.Out, err}, ack(ctx, err))
			}
		case p.writer.Err() != nil:
			return &outputError{p.o.Out, p.writer.Err()}
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, backfill.ErrFlush): // -linger flushes
		case final(err) || failures == maxFailures:
			return err
		default:
			failures++
			if pause(ctx, time.Second<<failures) != nil {
				return nil
			}
		}
	}
}

// maxFailures in a row end the run: a supervisor that starts it again sees
// more than one that looks at a live process which does nothing.
const maxFailures = 4

// settle counts a batch when it is safe, and passes the ack on.
func (p *pipeline) settle(b batch, ack backfill.AckFunc) jsonl.AckFunc {
	return func(ctx context.Context, err error) error {
		p.inFlight.Add(-1)
		if err == nil {
			n := int64(len(b.lines))
			if b.phase == jsonl.PhaseBackfill {
				p.rows.Add(n)
			} else {
				p.changes.Add(n)
			}
		}
		return ack(ctx, err)
	}
}

// drain ends a run: what was read is written and acked, what is acked is saved.
// It gives up after -drain-timeout; what is not saved then comes again.
func (p *pipeline) drain(hard context.Context, failed error) error {
	ctx, cancel := context.WithTimeout(hard, p.o.DrainTimeout)
	defer cancel()
	p.runner.Stop()
	written := make(chan error, 1)
	go func() { written <- p.writer.Close() }() // a hung disk must not hang the exit
	var err error
	select {
	case err = <-written:
		if err != nil {
			err = &outputError{p.o.Out, err}
		}
	case <-ctx.Done():
	}
	if failed != nil || err != nil || ctx.Err() != nil {
		p.runner.Abort() // something will never settle: do not wait for it
	}
	err = errors.Join(err, late(p.runner.Close(ctx)))
	if !p.o.Backfill {
		err = errors.Join(err, late(p.feed.stream.Load().Close(ctx)))
	}
	return errors.Join(err, late(p.committer.Close(ctx)))
}

// late turns a drain that ran out of time into a success: that is what its
// limit is for, and nothing is lost.
func late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, backfill.ErrStopped) {
		return nil
	}
	return err
}

// stopped turns an error that is only the user's stop into a success.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
