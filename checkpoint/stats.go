package checkpoint

import (
	"cmp"
	"slices"
	"time"
)

// PartitionStats is one instant of an open partition.
type PartitionStats struct {
	Key
	Position string // the frontier, encoded; "" if there is none
	Durable  string // what a restart resumes behind
	Fence    uint64
	SavedAt  time.Time // when the row was last written by this holder or claimed
	Dirty    bool      // the frontier is not durable yet

	Outstanding       int
	OutstandingWeight int64
	Waiting           int // Track calls that wait for room
	Sealed            bool

	// OldestAge is how long the same item has been the oldest outstanding one
	// under the eyes of Stats: measured from the first call that saw it, so a
	// caller that asks every few seconds is off by no more than that. A stuck
	// item pins its partition; OldestNacked says that its delivery failed.
	OldestAge    time.Duration
	OldestNacked bool

	LastError error // of the last save; nil once one succeeded
	Tries     int   // failed tries since the last success
}

// Stats reports all open partitions, ordered by name. Committed and lost ones
// are not open any more.
func (c *Committer) Stats() []PartitionStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	all := make([]PartitionStats, 0, len(c.lanes))
	for _, l := range c.lanes {
		s := PartitionStats{
			Key: l.key, Durable: l.row.Position, Fence: l.row.Fence, SavedAt: l.row.UpdatedAt,
			Dirty: l.src.version() != l.saved, LastError: l.failure, Tries: l.failures,
		}
		oldest := l.src.stats(&s)
		if oldest != l.oldest {
			l.oldest, l.oldestAt = oldest, now
		}
		if oldest != 0 {
			s.OldestAge = now.Sub(l.oldestAt)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b PartitionStats) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}
