package checkpoint

import (
	"context"
	"sync/atomic"
	"time"
)

// source is what a lane asks its Partition, free of the position's type.
type source interface {
	// version is raised whenever the frontier moved or completed.
	version() uint64
	// settledWeight is the weight behind the frontier.
	settledWeight() int64
	// outstanding counts the tickets that are not settled.
	outstanding() int
	// completed reports whether it is sealed and everything settled.
	completed() bool
	// stats adds what the frontier knows.
	stats(*PartitionStats) (oldest uint64)
	// draft encodes the frontier as it stands.
	draft() (draft, error)
	// persisted says that the last draft is durable.
	persisted()
	// freeze makes every outstanding ticket stale: the frontier moves no more.
	freeze()
}

// draft is what a save would write.
type draft struct {
	version  uint64
	settled  int64
	position string // "" if nothing settled in this attempt
	time     time.Time
	complete bool
}

// lane is the commit state of one partition. Its life is a circle:
//
//	clean --advance--> queued --due--> busy --saved--> clean, or queued again
//	                     ^---------- failed ----------'
//
// Invariant: at most one save of a lane is in flight (busy), and the next draft
// is made after it ended. So what a save wrote is known before the next one is
// computed, and no two writes of a partition race (C2).
type lane struct {
	// What every ack touches stands first, together.

	// noted is set by the first advance since the last draft began, so that
	// all other acks of an interval cost one atomic read. hasty is the same for
	// advances that make the save due at once. Both are cleared before a draft
	// is made: an ack that finds one set moved the frontier before that draft
	// reads it.
	noted, hasty atomic.Bool

	// watched counts the reasons to look closer at every advance: an option
	// that makes saves due at once, Seal, a Drain that waits. It is 0 most of
	// the time, and then noted says it all.
	watched atomic.Int32

	c      *Committer
	src    source
	key    Key
	sealed atomic.Bool  // look for completion
	drains atomic.Int32 // Drain calls waiting for outstanding tickets
	// draftSettled is settledWeight as of the last draft.
	draftSettled atomic.Int64

	committed chan struct{} // completion is durable
	lost      chan struct{} // fenced, released, abandoned or closed

	// Guarded by c.mu.
	row      Checkpoint // durable as far as the store told us (C5)
	saved    uint64     // version of the frontier that row holds
	tried    uint64     // version of the last draft that was sent
	revision uint64     // of the last draft that was sent
	due      time.Time  // when queued
	index    int        // in the queue, or -1
	busy     bool       // a save or its hooks run
	inStore  chan struct{}
	cancel   context.CancelFunc // of the save in flight
	again    time.Time          // became dirty while busy: due then; zero if not
	failures int                // of the save, in a row
	failure  error              // of the last try; nil after a success
	gone     bool               // no more saves
	err      error              // why gone
	waiting  []waiter
	draining []waiter
	oldest   uint64 // number of the oldest outstanding item when Stats last looked
	oldestAt time.Time
}

// waiter is one Flush, Drain or Ack that waits for a lane.
type waiter struct {
	version uint64 // done once saved reaches it
	wait    *wait
}

// advanced runs in the acking goroutine after the frontier moved. It never
// waits for the store; it takes the Committer's lock only for the first move
// of an interval and for moves that make the save due at once.
func (l *lane) advanced() {
	if l.watched.Load() != 0 || !l.noted.Load() {
		l.note()
	}
}

// note is advanced for the acks that are not the usual case.
func (l *lane) note() {
	c := l.c
	now := c.cfg.hasty()
	if w := c.cfg.everyWeight; w > 0 && !l.hasty.Load() {
		now = now || l.src.settledWeight()-l.draftSettled.Load() >= w
	}
	if l.sealed.Load() {
		now = now || l.src.completed()
	}
	if l.drains.Load() > 0 && l.src.outstanding() == 0 {
		c.drained(l)
	}
	mark := &l.noted
	if now {
		mark = &l.hasty
	}
	if mark.Load() || mark.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now()
	if !now {
		at = at.Add(c.cfg.interval)
	}
	c.enqueueLocked(l, at)
}

// drain adds n to the Drains that wait for the lane. It is called before what is
// outstanding is counted: an ack in between then sees it, and reports.
func (l *lane) drain(n int) {
	l.drains.Add(int32(n))
	l.watched.Add(int32(n))
}

// seal makes every further advance look for completion.
func (l *lane) seal() {
	if !l.sealed.Swap(true) {
		l.watched.Add(1)
	}
}
