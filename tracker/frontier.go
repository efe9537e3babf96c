package tracker

import "context"

// Config sets up a Frontier. The zero value is ready: no limit, no hook.
type Config struct {
	// Limit bounds the outstanding weight (T6). Default 0: no limit.
	Limit int64

	// OnAdvance, if set, runs after a settle, Seal included, that moved the
	// frontier or completed it, in the settling goroutine and outside the
	// frontier's lock. Several may run at once and in any order: read
	// Position again, never rely on their order.
	OnAdvance func()
}

// Frontier tracks the items of one partition.
type Frontier[P any] struct{ _ [0]P }

// New returns a Frontier set up by cfg.
func New[P any](cfg Config) *Frontier[P] { panic("not yet") }

// Track adds an item at pos, in read order; it waits while over the limit.
func (f *Frontier[P]) Track(ctx context.Context, pos P, weight int64) (Ticket[P], error) {
	panic("not yet")
}

// TryTrack is Track that fails with ErrLimit instead of waiting.
func (f *Frontier[P]) TryTrack(pos P, weight int64) (Ticket[P], error) { panic("not yet") }

// TrackHold adds an item that must settle, but that the frontier may not rest on (T9).
func (f *Frontier[P]) TrackHold(ctx context.Context, weight int64) (Ticket[P], error) {
	panic("not yet")
}

// Seal says that no more items will be tracked (T5).
func (f *Frontier[P]) Seal() bool { panic("not yet") }

// Done is closed once sealed and everything settled (T5).
func (f *Frontier[P]) Done() <-chan struct{} { panic("not yet") }

// Abandon makes every outstanding ticket inert (T7).
func (f *Frontier[P]) Abandon() bool { panic("not yet") }

// Position is the frontier; false while nothing is settled.
func (f *Frontier[P]) Position() (P, bool) { panic("not yet") }

// Snapshot is the frontier together with its completion, read at one instant.
func (f *Frontier[P]) Snapshot() Snapshot[P] { panic("not yet") }

// Snapshot is one instant of a Frontier.
type Snapshot[P any] struct {
	Position P
	OK       bool   // Position is set
	Complete bool   // sealed and everything settled, not abandoned
	Version  uint64 // raised whenever Position or Complete changed
	Settled  int64  // weight settled behind the frontier so far
}

// Stats counts what a Frontier saw.
type Stats struct {
	Outstanding                              int
	OutstandingWeight                        int64
	Tracked, Acked, Discarded, Nacked, Stale uint64
	Sealed, Abandoned                        bool
}

// Stats reports the counters.
func (f *Frontier[P]) Stats() Stats { panic("not yet") }
