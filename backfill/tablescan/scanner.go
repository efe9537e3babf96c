package tablescan

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
)

// Page is one page of one segment.
type Page struct {
	Segment int
	Items   []map[string]types.AttributeValue
}

// Scanner reads one table.
type Scanner struct{}

// New returns a Scanner; it does no I/O and starts nothing.
func New(cfg Config) (*Scanner, error) { panic("not yet") }

// PlanBackfill describes the table (backfill.Planner). A source that also
// streams sets the plan's Anchor and hands it on.
func (s *Scanner) PlanBackfill(ctx context.Context) (backfill.Plan, error) { panic("not yet") }

// StartBackfill opens every segment and starts reading (backfill.Starter).
func (s *Scanner) StartBackfill(ctx context.Context, run backfill.Run) error { panic("not yet") }

// Read returns the next page of any segment, and backfill.ErrBackfillComplete
// once all was read.
func (s *Scanner) Read(ctx context.Context) (Page, backfill.AckFunc, error) { panic("not yet") }

// Close stops reading and releases the segments.
func (s *Scanner) Close(ctx context.Context) error { panic("not yet") }
