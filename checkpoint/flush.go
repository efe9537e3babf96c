package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Flush saves what is settled as of the call in the partitions held, and returns
// nil once it is durable, its Committed hooks included (C6). A save that fails is repeated
// until ctx ends; then the error of the store is returned, or ctx.Err() as it
// is if no save failed. A partition that is lost on the way is an error that
// wraps ErrFenced; the others are saved all the same.
func (c *Committer) Flush(ctx context.Context) error {
	return c.flush(ctx, c.open())
}

// Drain waits until every ticket that is outstanding now is settled, and then
// flushes. The caller has stopped tracking, or Drain may wait for newer tickets
// too. A nacked ticket is outstanding: it is redelivered, discarded, or ctx
// ends, and Drain returns ctx.Err(): what is durable is still true.
func (c *Committer) Drain(ctx context.Context) error {
	lanes := c.open()
	c.mu.Lock()
	w := newWait()
	for _, l := range lanes {
		if l.gone {
			continue
		}
		l.drain(1)
		if l.src.outstanding() == 0 {
			l.drain(-1)
			continue
		}
		w.pending++
		l.draining = append(l.draining, waiter{wait: w})
	}
	w.beginLocked()
	c.mu.Unlock()
	err := c.await(ctx, w, lanes)
	if err != nil && ctx.Err() != nil {
		return err
	}
	return errors.Join(err, c.flush(ctx, lanes))
}

// Close flushes what is settled, ends all partitions and stops the Committer.
// It does not wait for outstanding tickets; call Drain before it for that. An
// ack that reported true before Close returned nil is durable, as far as the
// frontier reached it; later acks are stale. If ctx ends first, Close gives up
// and returns the error like Flush, and the Committer is closed all the same:
// nothing is lost, what was not durable is delivered again. A second Close
// waits for the first and returns the same.
func (c *Committer) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closing != nil {
		c.mu.Unlock()
		select {
		case <-c.closing:
			return c.closed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.closing = make(chan struct{})
	c.mu.Unlock()
	lanes := c.open()

	err := c.flush(ctx, lanes)
	// Acks went on during the flush. From here on they are stale, and what they
	// moved until now is saved too.
	c.freeze(lanes)
	if ctx.Err() == nil {
		err = errors.Join(err, c.flush(ctx, lanes))
	}
	c.mu.Lock()
	for _, l := range lanes {
		c.dropLocked(l, ErrClosed)
	}
	c.halt = true
	stopped := c.stopped
	c.mu.Unlock()
	c.poke()
	if stopped != nil {
		select {
		case <-stopped:
		case <-ctx.Done(): // a Save that ignores its context does not hold us up
		}
	}
	c.mu.Lock()
	c.closed = err
	close(c.closing)
	c.mu.Unlock()
	return err
}

// open is the partitions that are open now.
func (c *Committer) open() []*lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	lanes := make([]*lane, 0, len(c.lanes))
	for _, l := range c.lanes {
		lanes = append(lanes, l)
	}
	return lanes
}

// freeze makes outstanding tickets stale, so that the frontiers move no more.
// What is complete stays so, and is still to be saved.
func (c *Committer) freeze(lanes []*lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lanes {
		if !l.gone {
			l.src.freeze()
		}
	}
}

// flush waits until the frontiers of lanes, as of now, are durable.
func (c *Committer) flush(ctx context.Context, lanes []*lane) error {
	c.mu.Lock()
	w := newWait()
	for _, l := range lanes {
		version := l.src.version()
		switch {
		case l.gone && version <= l.saved:
		case l.gone:
			w.errs = append(w.errs, l.err)
		case version <= l.saved && !l.busy:
		default:
			w.pending++
			l.waiting = append(l.waiting, waiter{version: version, wait: w})
			if !l.busy { // a busy one looks who waits once it is not
				c.scheduleLocked(l, time.Now()) // whatever its backoff
			}
		}
	}
	w.beginLocked()
	c.mu.Unlock()
	return c.await(ctx, w, lanes)
}

// await waits for w, and unlinks it if ctx ends first.
func (c *Committer) await(ctx context.Context, w *wait, lanes []*lane) error {
	select {
	case <-w.done:
		return errors.Join(w.errs...)
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.pending == 0 { // it ended at the same instant
		return errors.Join(w.errs...)
	}
	missing, failing := 0, (*lane)(nil)
	for _, l := range lanes {
		var here, drains int
		l.waiting, here = without(l.waiting, w)
		l.draining, drains = without(l.draining, w)
		l.drain(-drains)
		missing += here
		if here > 0 && l.failure != nil {
			failing = l
		}
	}
	if failing != nil {
		w.errs = append(w.errs, fmt.Errorf("checkpoint: %d partitions are not durable, among them %s after %d tries: %w (gave up: %w)",
			missing, failing.key, failing.failures, failing.failure, ctx.Err()))
	}
	if len(w.errs) == 0 {
		return ctx.Err()
	}
	return errors.Join(w.errs...)
}

// drained ends the Drains that wait for the lane, if it has nothing
// outstanding.
func (c *Committer) drained(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.src.outstanding() > 0 {
		return
	}
	for _, w := range l.draining {
		w.wait.resolveLocked(nil)
	}
	l.drain(-len(l.draining))
	l.draining = nil
}

// wait is one call that waits for some lanes. Guarded by Committer.mu until
// done is closed.
type wait struct {
	pending int
	errs    []error
	done    chan struct{}
}

func newWait() *wait { return &wait{done: make(chan struct{})} }

// beginLocked is called once all lanes are counted.
func (w *wait) beginLocked() {
	if w.pending == 0 {
		close(w.done)
	}
}

func (w *wait) resolveLocked(err error) {
	if err != nil {
		w.errs = append(w.errs, err)
	}
	if w.pending--; w.pending == 0 {
		close(w.done)
	}
}

// resolveUpTo ends the waiters that version satisfies and returns the others.
func resolveUpTo(all []waiter, version uint64) []waiter {
	var left []waiter
	for _, w := range all {
		if w.version <= version {
			w.wait.resolveLocked(nil)
		} else {
			left = append(left, w)
		}
	}
	return left
}

func without(all []waiter, w *wait) (left []waiter, removed int) {
	for _, other := range all {
		if other.wait == w {
			removed++
		} else {
			left = append(left, other)
		}
	}
	return left, removed
}
