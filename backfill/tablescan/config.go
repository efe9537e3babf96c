package tablescan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackgate/ackgate/backfill"
)

// Client is the part of *dynamodb.Client that a scan uses.
type Client interface {
	Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Config sets up a Scanner.
type Config struct {
	// Client and Table are required.
	Client Client
	Table  string

	// Segments is how many parts a new plan cuts the table into, 1 to 1,000.
	// Default 1. A persisted plan wins over it.
	Segments int
	// Parallel is how many segments are read side by side. Default: all, at
	// most 16.
	Parallel int
	// MaxInFlight bounds the pages read and not yet settled. Default four for
	// each parallel reader. When it is reached, and nothing settles for a
	// second, Read returns backfill.ErrFlush.
	MaxInFlight int
	// ReadUnits bounds the capacity consumed by all segments together, in read
	// units a second. Default 0: no limit.
	ReadUnits float64
	// Limit is the most items of a page. Default 0: what fits 1 MB.
	Limit int32
	// EventuallyConsistent halves the cost of a scan, and gives up reading what
	// was written just before it: leave it off unless the stream's anchor lies
	// well before the first page. Default false.
	EventuallyConsistent bool
	// Projection is a ProjectionExpression; Names are its attribute names.
	// Default "": whole items.
	Projection string
	Names      map[string]string

	// Retry paces a page that was throttled or failed with a server's error.
	// Default 100 ms to 30 s, for ever.
	Retry backfill.Backoff
	// CheckEvery is how often the table is described while it is scanned: for
	// the estimate, and to notice that it was replaced. Default 5 min.
	CheckEvery time.Duration
	// OnRetry, if set, is told of every page that will be read again.
	OnRetry func(segment int, err error, attempt int)
	// Log gets warnings and debug lines. Default: none.
	Log *slog.Logger
}

// maxSegments is ours, not DynamoDB's million: each is a checkpoint row.
const maxSegments = 1000

func (c *Config) setDefaults() {
	if c.Segments == 0 {
		c.Segments = 1
	}
	if c.Parallel == 0 {
		c.Parallel = 16
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 4 * min(c.Parallel, c.Segments)
	}
	if c.CheckEvery == 0 {
		c.CheckEvery = 5 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Retry.Min == 0 {
		c.Retry.Min = 100 * time.Millisecond
	}
	if c.Retry.Max == 0 {
		c.Retry.Max = max(30*time.Second, c.Retry.Min)
	}
}

func (c *Config) validate() error {
	switch {
	case c.Client == nil || c.Table == "":
		return errors.New("tablescan: Config.Client and Config.Table are required")
	case c.Segments < 1 || c.Segments > maxSegments:
		return fmt.Errorf("tablescan: Config.Segments is %d: 1 to %d", c.Segments, maxSegments)
	case c.Parallel < 1 || c.MaxInFlight < 1:
		return errors.New("tablescan: Config.Parallel and Config.MaxInFlight must be at least 1")
	case c.ReadUnits < 0 || math.IsNaN(c.ReadUnits) || math.IsInf(c.ReadUnits, 0):
		return fmt.Errorf("tablescan: Config.ReadUnits is %g: 0 is no limit, otherwise units a second", c.ReadUnits)
	case c.Limit < 0:
		return fmt.Errorf("tablescan: Config.Limit is %d: 0 is no limit, otherwise items a page", c.Limit)
	case c.Projection == "" && len(c.Names) > 0:
		return errors.New("tablescan: Config.Names without a Config.Projection")
	case c.Retry.Max < c.Retry.Min:
		return errors.New("tablescan: Config.Retry falls: Max is below Min")
	}
	return nil
}
