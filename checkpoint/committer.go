package checkpoint

import (
	"context"
	"time"

	"github.com/ackgate/ackgate/tracker"
)

// Committer makes the frontiers of one pipeline durable.
type Committer struct{}

// Option sets up a Committer.
type Option func(*Committer)

// NewCommitter returns a Committer; its one goroutine starts with the first Open.
func NewCommitter(store Store, pipeline string, opts ...Option) *Committer { panic("not yet") }

// Pipeline is the pipeline's name; Store the store beneath.
func (c *Committer) Pipeline() string { panic("not yet") }
func (c *Committer) Store() Store     { panic("not yet") }

// Flush, Drain and Close: see the package comment (C6).
func (c *Committer) Flush(ctx context.Context) error { panic("not yet") }
func (c *Committer) Drain(ctx context.Context) error { panic("not yet") }
func (c *Committer) Close(ctx context.Context) error { panic("not yet") }

// Codec turns positions into the store's human-readable strings and back.
type Codec[P any] interface {
	Encode(pos P) (string, error)
	Decode(s string) (P, error)
}

// Partition is one claimed partition: a tracker.Frontier whose progress is made durable.
type Partition[P any] struct{}

// Open claims the partition and decodes where it stands. The returned
// Checkpoint is the row as claimed: Complete and Position tell where to resume.
func Open[P any](ctx context.Context, c *Committer, partition string, codec Codec[P]) (*Partition[P], Resumed[P], error) {
	panic("not yet")
}

// Resumed is what Open found.
type Resumed[P any] struct {
	Position P
	OK       bool // Position is set: resume behind it
	Checkpoint
}

// Track, TryTrack, TrackHold, Seal: as on tracker.Frontier. eventTime rides
// beside the position into the row (zero: unknown).
func (p *Partition[P]) Track(ctx context.Context, pos P, weight int64) (tracker.Ticket[At[P]], error) {
	panic("not yet")
}

func (p *Partition[P]) TrackAt(ctx context.Context, pos P, eventTime time.Time, weight int64) (tracker.Ticket[At[P]], error) {
	panic("not yet")
}

func (p *Partition[P]) TrackHold(ctx context.Context, weight int64) (tracker.Ticket[At[P]], error) {
	panic("not yet")
}

// At is a position with the source time of its record.
type At[P any] struct {
	Position P
	Time     time.Time
}

func (p *Partition[P]) Seal() bool                        { panic("not yet") }
func (p *Partition[P]) Key() Key                          { panic("not yet") }
func (p *Partition[P]) Committed() <-chan struct{}        { panic("not yet") } // completion is durable
func (p *Partition[P]) Settled() <-chan struct{}          { panic("not yet") } // sealed and everything settled
func (p *Partition[P]) Lost() <-chan struct{}             { panic("not yet") } // fenced by a newer owner, or released
func (p *Partition[P]) Err() error                        { panic("not yet") } // ErrFenced after Lost
func (p *Partition[P]) Durable() (P, bool)                { panic("not yet") }
func (p *Partition[P]) Position() (P, bool)               { panic("not yet") }
func (p *Partition[P]) Release(ctx context.Context) error { panic("not yet") } // flush what is settled, then abandon; later acks are inert
func (p *Partition[P]) Abandon()                          { panic("not yet") } // at once, nothing saved after it returns (F36)
