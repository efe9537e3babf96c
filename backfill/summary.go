package backfill

import "time"

// Summary is what BackfillComplete gets.
type Summary struct {
	Plan       Plan
	Generation uint64
	Attempt    uint64
	// Delivered counts batches over all attempts; a crash may lose some of the
	// count, and a batch delivered again is counted again.
	Delivered uint64
	// Discarded counts batches deliberately dropped over all attempts. A discard
	// is counted durably before the batch is settled, so it is never too low.
	Discarded uint64
	// Elapsed is the time since the plan began, 0 if it has no start time.
	Elapsed time.Duration
}
