package checkpoint

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// Checkpoint is one durable row.
type Checkpoint struct {
	Key
	Position  string    // opaque, human-readable; "" = claimed, nothing settled yet
	Complete  bool      // sealed and fully settled: never read this partition again
	Fence     uint64    // raised by Claim
	Revision  uint64    // raised by every save of new content under one fence
	EventTime time.Time // source time of the record at Position, zero if unknown
	UpdatedAt time.Time // when the writer wrote it, by the writer's clock
	Owner     string    // who claimed it; unique for each claim, see NewOwner
}

// String is one line for tests and logs.
func (c Checkpoint) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s position=%q fence=%d revision=%d", c.Key, c.Position, c.Fence, c.Revision)
	if c.Complete {
		b.WriteString(" complete")
	}
	return b.String()
}

// NewOwner returns label with a random suffix. An owner is part of what Save
// checks, so it must be unique for each claim: fences start again at 1 when a
// row was deleted, and then only the owner tells a zombie from the holder.
func NewOwner(label string) string {
	if label == "" {
		return rand.Text()
	}
	return label + "/" + rand.Text()
}
