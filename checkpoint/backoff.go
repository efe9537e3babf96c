package checkpoint

import (
	"time"

	"github.com/ackgate/ackgate/internal/jitter"
)

// backoff is the pause before the next try of a failing save.
type backoff struct{ min, max time.Duration }

// after returns the pause after the given number of failures (1, 2, …): the
// doubled pause less up to half of it. r is in [0, 1).
func (b backoff) after(failures int, r float64) time.Duration {
	return jitter.Backoff(b.min, b.max, failures, r)
}

// jittered is the pause of a partition.
func (b backoff) jittered(partition string, failures int) time.Duration {
	return b.after(failures, jitter.Part(partition, failures))
}
