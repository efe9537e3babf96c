package backfill

import "context"

// Runner is one attempt of a pipeline: one Read loop over backfill and stream.
type Runner[B any] struct{}

// New returns a Runner; it does no I/O and starts nothing.
func New[B any](src Reader[B], cfg Config) (*Runner[B], error) { panic("not yet") }

// Read returns the next batch.
func (r *Runner[B]) Read(ctx context.Context) (B, AckFunc, error) { panic("not yet") }

// Stop ends reading softly.
func (r *Runner[B]) Stop() {}

// Abort ends the attempt at once.
func (r *Runner[B]) Abort() {}

// Close stops, waits for what is in flight until ctx ends, and closes the source.
func (r *Runner[B]) Close(ctx context.Context) error { panic("not yet") }

// Phase is where the attempt stands.
func (r *Runner[B]) Phase() Phase { panic("not yet") }
