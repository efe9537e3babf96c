package backfill

import (
	"context"

	"github.com/ackgate/ackgate/checkpoint"
)

// AckFunc settles one batch: nil is delivered, anything else is not delivered.
// It may be called from any goroutine and in any order.
type AckFunc func(ctx context.Context, err error) error

// Reader is what a connector implements. Its methods are never called side by
// side with themselves; ReadBackfill and ReadStream run side by side only in the
// Overlap handoff. They must return soon after their context ended; Close waits
// for them.
//
// The AckFunc that a Reader returns is called with nil at most once with
// success, never after Abort, and again after it failed. A nack does not end the
// batch: a later nil must still settle it.
type Reader[B any] interface {
	// ReadBackfill returns the next batch of what existed, and
	// ErrBackfillComplete once everything was read. Another error is handed to
	// the caller of Read, and the next Read calls ReadBackfill again. If a
	// partition was lost it wraps checkpoint.ErrFenced, and so do the AckFunc's:
	// the Runner finds out which attempt gives way.
	ReadBackfill(ctx context.Context) (B, AckFunc, error)
	// ReadStream returns the next batch of what changed.
	ReadStream(ctx context.Context) (B, AckFunc, error)
}

// ReadFunc is one Read loop: Runner.Read, or any other reader's.
type ReadFunc[B any] func(ctx context.Context) (B, AckFunc, error)

// StreamOnly makes a Reader of a source that has no backfill; use it with
// Config.Mode StreamOnlyMode.
func StreamOnly[B any](read ReadFunc[B]) Reader[B] { return half[B]{stream: read} }

// BackfillOnly makes a Reader of a source that has no stream; use it with
// Config.Mode BackfillOnlyMode. The optional interfaces are looked for in src.
func BackfillOnly[B any](src interface {
	ReadBackfill(ctx context.Context) (B, AckFunc, error)
},
) Reader[B] {
	return half[B]{backfill: src.ReadBackfill, of: src}
}

// half is a Reader with one half missing.
type half[B any] struct {
	backfill, stream ReadFunc[B]
	of               any // where the optional interfaces are
}

func (h half[B]) ReadBackfill(ctx context.Context) (b B, _ AckFunc, _ error) {
	if h.backfill == nil {
		return b, nil, ErrBackfillComplete
	}
	return h.backfill(ctx)
}

func (h half[B]) ReadStream(ctx context.Context) (b B, _ AckFunc, _ error) {
	if h.stream == nil {
		return b, nil, ErrEnd
	}
	return h.stream(ctx)
}

func (h half[B]) unwrap() any { return h.of }

// The optional interfaces of a Reader.

// Planner proposes the plan of a backfill. It is called only when a new
// generation begins; what it returns is durable before the first ReadBackfill
// (B1), and is what every later attempt gets, whatever the configuration says
// by then. It captures the stream's anchor.
type Planner interface {
	PlanBackfill(ctx context.Context) (Plan, error)
}

// Starter is told of every attempt, before its first read, in whatever phase it
// starts. Opening the segments belongs here: all of them before the first read,
// so that an attempt that was superseded never claims one again.
type Starter interface {
	StartBackfill(ctx context.Context, run Run) error
}

// Completer is called once every batch is settled and every segment's
// completion is durable, and before the handoff's marker (B2, B7): at least
// once, again after a crash or an error, so it must be idempotent. An attempt that
// was superseded without having noticed may call it late, even after a newer one
// has set the marker. Its context is not cancelled by Stop, only by Abort and
// Config.HookTimeout.
type Completer interface {
	BackfillComplete(ctx context.Context, s Summary) error
}

// Flusher flushes what batches up downstream; it is called instead of returning
// ErrFlush when Config.Flush is not set (B6).
type Flusher interface {
	FlushBackfill(ctx context.Context) error
}

// Closer is closed by Runner.Close, after what is in flight has settled or ctx
// has ended.
type Closer interface {
	Close(ctx context.Context) error
}

// Run is one attempt of one backfill.
type Run struct {
	Plan       Plan
	Generation uint64
	Attempt    uint64 // rises with every attempt of the generation
	Phase      Phase  // where this attempt starts; the backfill is read only in Backfilling
	Committer  *checkpoint.Committer
}

// Partition is the checkpoint partition of segment i, from 0.
func (r Run) Partition(i int) string { return segmentName(r.Generation, i, r.Plan.Segments) }
