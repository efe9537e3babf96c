package checkpoint

import "context"

// Freshness proves that this very run created the pipeline's origin. Only Begin
// makes one; it is used up by the first discovery.
type Freshness struct{ usable bool }

// Begin writes the pipeline's origin if there is none and returns the one that
// stands. The Freshness is usable only when this call created the origin and
// the pipeline had no other row before.
func Begin(ctx context.Context, s Store, pipeline string, o Origin) (Origin, *Freshness, error) {
	panic("not yet")
}

// Use reports whether LATEST is allowed, and uses it up: every later call is false.
func (f *Freshness) Use() bool { panic("not yet") }
