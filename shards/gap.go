package shards

import (
	"errors"
	"fmt"
	"time"
)

// ErrGap is matched by every Gap: records were trimmed before they were read.
var ErrGap = errors.New("shards: gap: records left the stream before they were read; " +
	"read the table again (a new backfill), or continue by policy")

// Gap is a hole in what a pipeline was owed (S4). It is an error.
type Gap struct {
	Stream string // the stream's label
	Shard  string // "" when the stream itself was replaced
	// After is the last position that was read; zero when none was.
	After SequenceNumber
	// AfterTime is the creation time of the record at After, if known.
	AfterTime time.Time
	// Before is the first record that is there again; zero when none is: the
	// shard is gone, or nothing is in it yet.
	Before SequenceNumber
	// BeforeTime is the creation time of the record at Before, if known.
	BeforeTime time.Time
	// Gone: the shard, or the stream, no longer exists.
	Gone bool
}

// Error names the shard and both ends.
func (g Gap) Error() string {
	what := "shard " + g.Shard
	if g.Shard == "" {
		what = "the whole stream"
	}
	after, before := g.After.String(), g.Before.String()
	if after == "" {
		after = "its beginning"
	}
	switch {
	case g.Gone:
		before = "its end (gone)"
	case before == "":
		before = "what is retained"
	}
	return fmt.Sprintf("%v: %s of stream %s: lost from %s to %s", ErrGap, what, g.Stream, after, before)
}

// Is makes errors.Is(gap, ErrGap) true.
func (g Gap) Is(target error) bool { return target == ErrGap }

// Overdue reports whether a shard without a position may have lost records
// silently: at TRIM_HORIZON the service starts with what is retained and says
// nothing of what was. Records were owed since the given time (the pipeline's
// origin, or the last record of the parents). An open shard is exempt: it is
// younger than any retention.
func Overdue(closed bool, owedSince, now time.Time, retention time.Duration) bool {
	return closed && !owedSince.IsZero() && owedSince.Before(now.Add(-retention))
}
