package checkpoint

import (
	"errors"
	"sync"
	"time"
)

var (
	// ErrClosed is returned by Open after Close, and by Err of a partition
	// that Close ended.
	ErrClosed = errors.New("checkpoint: closed: open partitions with a new Committer")
	// ErrReleased is returned by Err of a partition that Release or Abandon
	// ended, and by a Flush that was still waiting for it.
	ErrReleased = errors.New("checkpoint: released: open the partition again")
	// ErrStale is returned by Partition.Ack for a ticket that was settled
	// before or belongs to an attempt that is over. Nothing changed.
	ErrStale = errors.New("checkpoint: stale ack: settled before, or its attempt is over")
)

// Committer makes the frontiers of one pipeline's partitions durable. See the
// package comment for what it promises. All methods may be called from any
// goroutine.
type Committer struct {
	store    Store
	pipeline string
	cfg      config

	wake chan struct{} // pokes the flusher; capacity 1

	mu      sync.Mutex
	lanes   map[string]*lane // open partitions by name
	queue   queue
	running int       // saves and their hooks in flight
	armed   time.Time // when the flusher wakes by itself; zero: never
	stopped chan struct{}
	closing chan struct{} // made by the first Close, closed when it is over
	closed  error         // what the first Close returned
	halt    bool          // the flusher ends once nothing is running
	outage  outage
}

// NewCommitter returns a Committer for the pipeline. It does no I/O; its one
// goroutine starts with the first Open and ends with Close.
func NewCommitter(store Store, pipeline string, opts ...Option) *Committer {
	return &Committer{
		store:    store,
		pipeline: pipeline,
		cfg:      newConfig(opts),
		wake:     make(chan struct{}, 1),
		lanes:    make(map[string]*lane),
	}
}

// Pipeline is the pipeline's name.
func (c *Committer) Pipeline() string { return c.pipeline }

// Store is the store beneath.
func (c *Committer) Store() Store { return c.store }

func (c *Committer) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing != nil
}

// register makes the lane known and starts the flusher if it is the first. An
// older lane of the same partition is lost: the claim that made the new one has
// fenced it already.
func (c *Committer) register(l *lane) error {
	c.mu.Lock()
	if c.closing != nil {
		c.mu.Unlock()
		return ErrClosed
	}
	old := c.lanes[l.key.Partition]
	if old != nil && old.row.Fence > l.row.Fence {
		// Two Opens at once: the later claim holds, whichever came here first.
		c.mu.Unlock()
		return fenced(l.key, nil)
	}
	if old != nil {
		c.dropLocked(old, fenced(l.key, nil))
	}
	c.lanes[l.key.Partition] = l
	if c.stopped == nil {
		c.stopped = make(chan struct{})
		go c.flusher()
	}
	c.mu.Unlock()
	return nil
}

// enqueueLocked queues the lane's save for at, or leaves it where it is if it
// is due earlier or pauses after a failure.
func (c *Committer) enqueueLocked(l *lane, at time.Time) {
	switch {
	case l.gone:
	case l.busy:
		if l.again.IsZero() || at.Before(l.again) {
			l.again = at
		}
	case l.failures > 0: // it is queued, behind its backoff
	case l.index >= 0 && !at.Before(l.due):
	default:
		c.scheduleLocked(l, at)
	}
}

func (c *Committer) scheduleLocked(l *lane, at time.Time) {
	l.due = at
	c.queue.put(l)
	if c.armed.IsZero() || at.Before(c.armed) {
		c.poke()
	}
}

// dropLocked ends the lane: no save begins after it, none in flight counts, and
// whoever waits for it gets err. A nil err: completion is durable.
func (c *Committer) dropLocked(l *lane, err error) {
	if l.gone {
		return
	}
	l.gone, l.err = true, err
	c.queue.remove(l)
	if c.lanes[l.key.Partition] == l {
		delete(c.lanes, l.key.Partition)
	}
	if l.cancel != nil {
		l.cancel()
	}
	if err != nil {
		l.src.freeze()
		close(l.lost)
	}
	for _, w := range l.waiting {
		if w.version <= l.saved {
			w.wait.resolveLocked(nil)
		} else {
			w.wait.resolveLocked(err)
		}
	}
	for _, w := range l.draining {
		w.wait.resolveLocked(err)
	}
	l.waiting, l.draining = nil, nil
}

func (c *Committer) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
