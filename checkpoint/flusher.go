package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// awaitedPause bounds the backoff while a Flush, Drain, Close or Ack waits for
// the partition: the time that a shutdown has is often shorter than the backoff.
const awaitedPause = 2 * time.Second

// flusher starts the saves that are due, up to Parallel side by side. It is
// the Committer's one lasting goroutine; a save gets one of its own, so that
// one that hangs holds up only its partition.
func (c *Committer) flusher() {
	defer close(c.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		pause, done := c.startDue()
		if done {
			return
		}
		timer.Reset(pause)
		select {
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// startDue starts what is due and returns how long nothing else will be.
func (c *Committer) startDue() (pause time.Duration, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halt && c.running == 0 {
		return 0, true
	}
	now := time.Now()
	for c.running < c.cfg.parallel {
		l := c.queue.first()
		if l == nil || l.due.After(now) {
			break
		}
		c.queue.remove(l)
		l.busy, l.again = true, time.Time{}
		c.running++
		go c.save(l)
	}
	c.armed = time.Time{}
	if l := c.queue.first(); l != nil && c.running < c.cfg.parallel {
		c.armed = l.due
		return l.due.Sub(now), false
	}
	// Nothing queued, or no room: whoever changes that pokes.
	return time.Hour, false
}

// save commits the lane's frontier once and says when to come again.
func (c *Committer) save(l *lane) {
	defer c.poke()
	l.noted.Store(false)
	l.hasty.Store(false)
	d, err := l.src.draft()
	l.draftSettled.Store(d.settled)

	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.running--; l.busy = false }()
	switch {
	case l.gone:
		return
	case err != nil:
		err = fmt.Errorf("checkpoint: encode the position of %s: %w", l.key, err)
	case d.version != l.saved:
		err = c.writeLocked(l, d)
	}
	if l.gone {
		return // abandoned while the store was asked
	}
	c.afterSaveLocked(l, d, err)
}

// writeLocked gives up the lock for the call to the store, and for the hook.
func (c *Committer) writeLocked(l *lane, d draft) error {
	if d.version != l.tried {
		// New content, new revision. The same content keeps its revision, so
		// that repeating a write whose answer was lost is no conflict.
		l.tried = d.version
		l.revision++
	}
	row := l.row
	row.Revision, row.Complete, row.UpdatedAt = l.revision, d.complete, time.Now().Round(0)
	if d.position != "" { // else nothing settled in this attempt: the claimed position stands
		row.Position, row.EventTime = d.position, d.time
	}
	timeout := c.cfg.saveTimeout
	if timeout == 0 {
		timeout = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	inStore := make(chan struct{})
	l.cancel, l.inStore = cancel, inStore
	c.mu.Unlock()
	err := c.store.Save(ctx, row)
	c.mu.Lock()
	cancel()
	l.cancel, l.inStore = nil, nil
	close(inStore)
	if err != nil {
		return err
	}
	// Only now is it persisted, and exactly what was written (C5): not the
	// frontier of now, which may have moved on.
	l.row, l.saved = row, d.version
	l.src.persisted()
	if hook := c.cfg.hooks.Committed; hook != nil && !l.gone {
		c.mu.Unlock()
		hook(row)
		c.mu.Lock()
	}
	return nil
}

// afterSaveLocked draws the conclusions of a save that ended with err.
func (c *Committer) afterSaveLocked(l *lane, d draft, err error) {
	switch {
	case err == nil:
		l.failures, l.failure = 0, nil
		c.outage.overLocked(c, l)
		if d.complete {
			close(l.committed)
			c.dropLocked(l, nil)
			return
		}
		l.waiting = resolveUpTo(l.waiting, l.saved)
		at := l.again
		if len(l.waiting) > 0 {
			at = time.Now()
		}
		if !at.IsZero() {
			c.scheduleLocked(l, at)
		}
	case errors.Is(err, ErrFenced) || errors.Is(err, ErrComplete):
		// Final: a second try could only do harm.
		err = fenced(l.key, err)
		c.dropLocked(l, err)
		c.mu.Unlock()
		c.cfg.log.Warn("checkpoint: partition lost to a newer claim; this process stops reading it",
			"pipeline", l.key.Pipeline, "partition", l.key.Partition, "err", err)
		if hook := c.cfg.hooks.Fenced; hook != nil {
			hook(l.key, err)
		}
		c.mu.Lock()
	default:
		l.failures++
		l.failure = err
		at := time.Now().Add(c.cfg.backoff.jittered(l.key.Partition, l.failures))
		tries := l.failures
		report := c.outage.reportLocked(c, l)
		c.mu.Unlock()
		report()
		if hook := c.cfg.hooks.CommitFailed; hook != nil {
			hook(l.key, err, tries)
		}
		c.mu.Lock()
		if l.gone {
			return
		}
		// Queued only now: while the hook runs the lane is busy, and a queued
		// lane may be saved at any moment.
		if soon := time.Now().Add(awaitedPause); len(l.waiting) > 0 && at.After(soon) {
			at = soon
		}
		c.scheduleLocked(l, at)
	}
}

// fenced words a loss for the caller.
func fenced(key Key, err error) error {
	if err == nil {
		return fmt.Errorf("%w: %s was opened again", ErrFenced, key)
	}
	return fmt.Errorf("checkpoint: %s is lost: %w", key, err)
}
