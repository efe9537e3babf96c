package checkpoint

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Start says where a fresh pipeline begins.
type Start string

// The two starts of a pipeline.
const (
	StartTrimHorizon Start = "trim_horizon"
	StartLatest      Start = "latest"
)

// Origin is where and when a pipeline began. It is written once, before the
// first read, and never changes.
type Origin struct {
	Start Start
	// Time is the source's clock when the pipeline began, in whole seconds:
	// records created from here on are owed. StartLatest needs it.
	Time time.Time
	// Source names what the pipeline reads (a stream ARN), so that a
	// re-created source is noticed. May be empty.
	Source string
}

// Freshness proves that this very run created the pipeline's origin. Only Begin
// makes a usable one; it is used up by the first discovery. "No row exists" is
// no proof: rows appear only when something settled, and a crash before that
// would look fresh again.
type Freshness struct{ usable atomic.Bool }

// Begin writes the pipeline's origin if there is none and returns the one that
// stands. The Freshness is usable only when this call created the origin and
// the pipeline had no other row before.
func Begin(ctx context.Context, s Store, pipeline string, o Origin) (Origin, *Freshness, error) {
	if err := ValidatePipeline(pipeline); err != nil {
		return Origin{}, nil, err
	}
	switch {
	case o.Start != StartTrimHorizon && o.Start != StartLatest:
		return Origin{}, nil, fmt.Errorf("checkpoint: begin %s: start %q: want %q or %q", pipeline, o.Start, StartTrimHorizon, StartLatest)
	case o.Start == StartLatest && o.Time.IsZero():
		return Origin{}, nil, fmt.Errorf("checkpoint: begin %s: start %q needs the source's time", pipeline, o.Start)
	}
	if !o.Time.IsZero() {
		o.Time = o.Time.UTC().Truncate(time.Second)
	}
	// Asked before the origin is written: afterwards the origin itself would count.
	had, err := s.HasAny(ctx, pipeline)
	if err != nil {
		return Origin{}, nil, fmt.Errorf("checkpoint: begin %s: %w", pipeline, err)
	}
	standing, created, err := s.Begin(ctx, pipeline, o)
	if err != nil {
		return Origin{}, nil, fmt.Errorf("checkpoint: begin %s: %w", pipeline, err)
	}
	f := new(Freshness)
	f.usable.Store(created && !had)
	return standing, f, nil
}

// Use reports whether LATEST is allowed, and uses it up: every later call is
// false. A nil or zero Freshness is never usable.
func (f *Freshness) Use() bool { return f != nil && f.usable.Swap(false) }
