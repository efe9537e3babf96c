package backfill

import (
	"fmt"
	"time"

	"github.com/ackgate/ackgate/internal/jitter"
)

// Backoff is a pause that doubles from Min to Max, less up to half of it by
// chance so that many that failed together do not return together.
type Backoff struct {
	Min time.Duration // default 100 ms
	Max time.Duration // default 30 s
}

func (b *Backoff) setDefaults() {
	if b.Min == 0 {
		b.Min = 100 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = max(30*time.Second, b.Min)
	}
}

func (b Backoff) validate() error {
	if b.Min < 0 || b.Max < b.Min {
		return fmt.Errorf("backfill: Backoff from %s to %s: it must rise", b.Min, b.Max)
	}
	return nil
}

// Pause is the wait before attempt n+1, after n failures, n from 1.
func (b Backoff) Pause(n int) time.Duration {
	return jitter.Backoff(b.Min, b.Max, n, jitter.Part("backfill", n))
}

// retry is what failed so far of one thing, kept over Reads: a caller that reads
// with short contexts must not shorten the pauses.
type retry struct {
	n  int
	at time.Time
}

func (r *retry) failed(now time.Time, b Backoff) {
	r.n++
	r.at = now.Add(b.Pause(r.n))
}
