package checkpoint

import "time"

// Key names one partition of one pipeline.
type Key struct{ Pipeline, Partition string }

// String is "pipeline/partition", for errors and logs.
func (k Key) String() string { return k.Pipeline + "/" + k.Partition }

// Checkpoint is one durable row.
type Checkpoint struct {
	Key
	Position  string    // opaque, human-readable; "" = claimed, nothing settled yet
	Complete  bool      // sealed and fully settled: never read this partition again
	Fence     uint64    // raised by Claim
	Revision  uint64    // raised by every save under one fence
	EventTime time.Time // source time of the record at Position, zero if unknown
	UpdatedAt time.Time
	Owner     string
}

// Start says where a fresh pipeline begins.
type Start string

// The two starts of a pipeline.
const (
	StartTrimHorizon Start = "trim_horizon"
	StartLatest      Start = "latest"
)

// Origin is where and when a pipeline began. It is written once, before the first read.
type Origin struct {
	Start Start
	Time  time.Time // the source's clock when the pipeline began: records from here on are owed
	// Source names what the pipeline reads (a stream ARN), so that a
	// re-created source is noticed. May be empty.
	Source string
}
