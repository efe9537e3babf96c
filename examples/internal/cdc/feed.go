package cdc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamreader"
)

// batch is what both phases hand to the output: lines that are settled together.
type batch struct {
	phase string
	lines []jsonl.Line
}

// feed is the connector: the table's scan and the table's stream behind one
// backfill.Reader.
type feed struct {
	source *source
	scan   *tablescan.Scanner
	open   func(origin checkpoint.Origin) (*streamreader.Reader, error)

	segments atomic.Int64                        // of the persisted plan
	stream   atomic.Pointer[streamreader.Reader] // set by StartBackfill
	readAt   atomic.Int64                        // when records were last read, Unix nanoseconds
	age      atomic.Int64                        // of the last of them, nanoseconds
}

// PlanBackfill is called once in a pipeline's life: where the stream has to
// start is durable before the first row is read.
func (f *feed) PlanBackfill(ctx context.Context) (backfill.Plan, error) {
	p, err := f.scan.PlanBackfill(ctx)
	p.Anchor = f.source.streamARN
	return p, err
}

// StartBackfill is called by every process, in whatever phase the pipeline is.
func (f *feed) StartBackfill(ctx context.Context, run backfill.Run) error {
	// "Latest" with the plan's time and without Freshness: from the oldest
	// retained record on, leaving out what is older than the backfill. The plan's
	// stream, not today's: that it was replaced meanwhile is a gap.
	stream, err := f.open(checkpoint.Origin{Start: checkpoint.StartLatest, Time: run.Plan.StartTime, Source: run.Plan.Anchor})
	if err != nil {
		return err
	}
	f.stream.Store(stream)
	f.segments.Store(int64(run.Plan.Segments))
	return f.scan.StartBackfill(ctx, run)
}

// ReadBackfill returns a page of items.
func (f *feed) ReadBackfill(ctx context.Context) (batch, backfill.AckFunc, error) {
	page, ack, err := f.scan.Read(ctx)
	if err != nil {
		return batch{}, nil, err
	}
	b := batch{phase: jsonl.PhaseBackfill}
	for _, attributes := range page.Items {
		item, err := jsonl.TableItem(attributes)
		if err != nil {
			return batch{}, nil, unwritable(ctx, ack, err)
		}
		keys := jsonl.Item{}
		for _, name := range f.source.keys {
			keys[name] = item[name]
		}
		b.lines = append(b.lines, jsonl.Line{
			Phase: jsonl.PhaseBackfill, Event: jsonl.EventRead, Keys: keys, New: item,
			Segment: fmt.Sprintf("%d-of-%d", page.Segment, f.segments.Load()),
		})
	}
	return b, ack, nil
}

// ReadStream returns records of one shard.
func (f *feed) ReadStream(ctx context.Context) (batch, backfill.AckFunc, error) {
	records, ack, err := f.stream.Load().Read(ctx)
	if err != nil {
		return batch{}, nil, err
	}
	b := batch{phase: jsonl.PhaseStream}
	for _, r := range records.Records {
		line, err := streamLine(records.ShardID, r)
		if err != nil {
			return batch{}, nil, unwritable(ctx, ack, err)
		}
		b.lines = append(b.lines, line)
	}
	if n := len(b.lines); n > 0 {
		now := time.Now()
		f.age.Store(int64(max(0, now.Sub(b.lines[n-1].Created))))
		f.readAt.Store(now.UnixNano())
	}
	return b, ack, nil
}

// errUnwritable is an item that the output has no form for.
var errUnwritable = errors.New("an item cannot be written as JSON")

// unwritable leaves the batch unsettled: it comes again to a program that knows better.
func unwritable(ctx context.Context, ack func(context.Context, error) error, err error) error {
	return fmt.Errorf("%w: %w", errUnwritable, errors.Join(err, ack(ctx, err)))
}

// Close saves what is settled and gives shards and segments up.
func (f *feed) Close(ctx context.Context) error {
	var err error
	if stream := f.stream.Load(); stream != nil {
		err = stream.Close(ctx)
	}
	return errors.Join(err, f.scan.Close(ctx))
}

// quiet is how long without records means that the stream is read to its end.
const quiet = 5 * time.Second

// lag is how old the last change was when it was read, zero once nothing comes.
func (f *feed) lag() time.Duration {
	if time.Since(time.Unix(0, f.readAt.Load())) > quiet {
		return 0
	}
	return time.Duration(f.age.Load())
}
