package tablescan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// Page is one page of one segment, never empty.
type Page struct {
	Table   string
	Segment int
	Number  int // within the segment and attempt, from 1
	Items   []map[string]types.AttributeValue
}

// BatchName names the page in reports.
func (p Page) BatchName() string {
	return fmt.Sprintf("%s segment %d page %d (%d items)", p.Table, p.Segment, p.Number, len(p.Items))
}

// Scanner reads one table. It is a backfill.Planner, Starter and Closer; a
// source that also streams embeds it or calls it from its own.
type Scanner struct {
	cfg Config

	mu  sync.Mutex
	now *attempt // nil before StartBackfill
}

// New returns a Scanner; it does no I/O and starts nothing.
func New(cfg Config) (*Scanner, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Scanner{cfg: cfg}, nil
}

// tableID is where a plan keeps the identity of the table behind the name.
const tableID = "table_id"

// PlanBackfill describes the table (backfill.Planner): its ARN is the Source, and
// the server's clock the StartTime, in whole seconds as a stream's records have
// it. A source that also streams sets the plan's Anchor and hands it on.
func (s *Scanner) PlanBackfill(ctx context.Context) (backfill.Plan, error) {
	out, err := s.describe(ctx)
	if err != nil {
		return backfill.Plan{}, err
	}
	start, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		start = time.Now()
	}
	return backfill.Plan{
		Segments:  s.cfg.Segments,
		StartTime: start.UTC().Truncate(time.Second),
		Source:    aws.ToString(out.Table.TableArn),
		Details:   map[string]string{tableID: aws.ToString(out.Table.TableId)},
	}, nil
}

// describe asks for the table, again while that may help.
func (s *Scanner) describe(ctx context.Context) (*dynamodb.DescribeTableOutput, error) {
	for n := 1; ; n++ {
		out, err := s.cfg.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.cfg.Table})
		if err == nil && out.Table == nil {
			err = errHollow
		}
		err = quiet(err)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case gone(err):
			return nil, fmt.Errorf("%w: %q: %w", ErrTableGone, s.cfg.Table, err)
		case !retryable(err):
			return nil, fmt.Errorf("tablescan: describe table %q: %w", s.cfg.Table, err)
		}
		s.cfg.Log.Debug("tablescan: the table will be described again", "table", s.cfg.Table, "attempt", n, "err", err)
		if err := sleep(ctx, s.cfg.Retry.Pause(n)); err != nil {
			return nil, err
		}
	}
}

// StartBackfill opens every segment of the plan and starts reading them
// (backfill.Starter). It ends what an earlier attempt of this Scanner still did.
func (s *Scanner) StartBackfill(ctx context.Context, run backfill.Run) error {
	s.mu.Lock()
	old := s.now
	s.now = nil
	s.mu.Unlock()
	if old != nil {
		old.end()
	}
	a := newAttempt(s.cfg, run)
	if run.Phase == backfill.Backfilling {
		out, err := s.describe(ctx)
		if err != nil {
			return err
		}
		if err := a.identify(out.Table); err != nil {
			return err
		}
		if err := a.open(ctx); err != nil {
			a.end()
			return err
		}
		a.start()
	} else {
		a.finished.Do(func() { close(a.done) })
	}
	s.mu.Lock()
	s.now = a
	s.mu.Unlock()
	return nil
}

func (s *Scanner) attempt() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Read returns the next page of any segment, and backfill.ErrBackfillComplete
// once all was read. It is for one goroutine at a time.
func (s *Scanner) Read(ctx context.Context) (Page, backfill.AckFunc, error) {
	a := s.attempt()
	if a == nil {
		return Page{}, nil, ErrNotStarted
	}
	return a.read(ctx, s.describe)
}

// ReadBackfill is Read, for use as one half of a backfill.Reader, and for
// backfill.BackfillOnly.
func (s *Scanner) ReadBackfill(ctx context.Context) (Page, backfill.AckFunc, error) {
	return s.Read(ctx)
}

// Close stops reading, makes what is settled durable if it can before ctx ends,
// and gives the segments up: later acks change nothing (backfill.Closer).
func (s *Scanner) Close(ctx context.Context) error {
	a := s.attempt()
	if a == nil {
		return nil
	}
	a.stop()
	var err error
	if a.run.Committer != nil {
		err = a.run.Committer.Flush(ctx)
	}
	a.end()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, checkpoint.ErrFenced):
		return nil // another attempt has the segments: there is nothing to save
	}
	return err
}

// Progress is one moment of an attempt.
type Progress struct {
	Segments, SegmentsDone int // done: read to the end, in this attempt or before
	Rows, Pages            uint64
	Bytes                  uint64  // of the items, as DynamoDB counts sizes, about
	Units                  float64 // read units consumed
	Retries                uint64
	InFlight               int // pages read and not settled
	EstimatedRows          int64
	Elapsed                time.Duration
	// ETA is the time left, from the table's item count (which DynamoDB updates
	// every six hours) or, in a resumed attempt, from whole segments. 0: unknown.
	ETA time.Duration
}

// Progress reports how far this attempt is.
func (s *Scanner) Progress() Progress {
	a := s.attempt()
	if a == nil {
		return Progress{}
	}
	return a.progress(time.Now())
}
