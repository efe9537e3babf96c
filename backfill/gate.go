package backfill

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrStale is returned by an AckFunc whose batch is settled already, or is just
// being settled by another call: nothing changed.
var ErrStale = errors.New("backfill: stale ack: this batch is settled or being settled")

// Named is implemented by batches that have a name worth reading in reports.
type Named interface{ BatchName() string }

// batch is one batch handed out by one attempt.
type batch struct {
	name   string
	readAt time.Time
	ack    AckFunc // the source's

	prev, next *batch // in read order, among the outstanding
	busy       bool   // an AckFunc call owns it now
	settled    bool
	nacks      int
	lastErr    error
}

// gate holds the outstanding batches of one half of one attempt (B4): it is made
// with the attempt and dies with it.
//
// Invariant: a batch is in the list exactly while it is not settled.
type gate struct {
	half Phase // Backfilling or Streaming

	mu             sync.Mutex
	over           bool
	oldest, newest *batch
	open, unheard  int // outstanding, and of them those without a last word
	counts         HalfStats

	// moved has room for one: somebody settled or nacked.
	moved chan struct{}
}

// HalfStats counts one half of an attempt.
type HalfStats struct {
	Read, Delivered, Discarded, Nacked, Stale uint64
	Outstanding                               int
	OldestAge                                 time.Duration // of the oldest outstanding batch
	Latency                                   Latency
}

// Latency is the time from read to ack.
type Latency struct {
	Count    uint64
	Sum, Max time.Duration
}

// Mean is the mean, 0 while nothing was settled.
func (l Latency) Mean() time.Duration {
	if l.Count == 0 {
		return 0
	}
	return l.Sum / time.Duration(l.Count)
}

func newGate(half Phase) *gate { return &gate{half: half, moved: make(chan struct{}, 1)} }

// add takes a batch in.
func (g *gate) add(b any, ack AckFunc, now time.Time) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts.Read++
	e := &batch{readAt: now, ack: ack, prev: g.newest}
	if named, ok := b.(Named); ok {
		e.name = named.BatchName()
	} else {
		half := "backfill"
		if g.half == Streaming {
			half = "stream"
		}
		e.name = fmt.Sprintf("%s batch %d", half, g.counts.Read)
	}
	if g.newest != nil {
		g.newest.next = e
	} else {
		g.oldest = e
	}
	g.newest = e
	g.open++
	g.unheard++
	return e
}

// take makes the caller the one owner of e until give.
func (g *gate) take(e *batch) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.over:
		return ErrAttemptOver
	case e.settled || e.busy:
		g.counts.Stale++
		return ErrStale
	}
	e.busy = true
	return nil
}

// verdict is what became of a taken batch.
type verdict uint8

const (
	undecided verdict = iota // the source's ack failed: may be called again
	delivered
	discarded
	nacked
)

// give ends take. It returns the batch's age.
func (g *gate) give(e *batch, v verdict, err error, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.busy = false
	age := now.Sub(e.readAt)
	switch v {
	case undecided:
		return age
	case nacked:
		if e.nacks == 0 {
			g.unheard--
		}
		e.nacks++
		e.lastErr = err
		g.counts.Nacked++
	default:
		if v == delivered {
			g.counts.Delivered++
		} else {
			g.counts.Discarded++
		}
		g.counts.Latency.Count++
		g.counts.Latency.Sum += age
		g.counts.Latency.Max = max(g.counts.Latency.Max, age)
		g.removeLocked(e)
	}
	select {
	case g.moved <- struct{}{}:
	default:
	}
	return age
}

func (g *gate) removeLocked(e *batch) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		g.oldest = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		g.newest = e.prev
	}
	e.prev, e.next, e.ack = nil, nil, nil
	e.settled = true
	g.open--
	if e.nacks == 0 {
		g.unheard--
	}
}

// end makes every AckFunc of the gate return ErrAttemptOver.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}

// outstanding is how many are out, and how many of them had no nack.
func (g *gate) outstanding() (open, unheard int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.unheard
}

// eldest describes the oldest outstanding batch.
func (g *gate) eldest(now time.Time) (e *batch, s Stall, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.oldest == nil {
		return nil, Stall{}, false
	}
	e = g.oldest
	return e, Stall{
		Outstanding: g.open, Oldest: e.name, Age: now.Sub(e.readAt), Nacks: e.nacks, LastErr: e.lastErr,
	}, true
}

func (g *gate) stats(now time.Time) HalfStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.counts
	s.Outstanding = g.open
	if g.oldest != nil {
		s.OldestAge = now.Sub(g.oldest.readAt)
	}
	return s
}

// check walks the structure; tests call it after every step.
func (g *gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, unheard := 0, 0
	var prev *batch
	for e := g.oldest; e != nil; prev, e = e, e.next {
		if e.settled || e.prev != prev {
			return fmt.Errorf("gate: %s is settled or badly linked", e.name)
		}
		n++
		if e.nacks == 0 {
			unheard++
		}
	}
	if prev != g.newest || n != g.open || unheard != g.unheard {
		return fmt.Errorf("gate: %d in the list, %d counted; %d unheard, %d counted", n, g.open, unheard, g.unheard)
	}
	if got := g.counts.Delivered + g.counts.Discarded + uint64(n); got != g.counts.Read {
		return fmt.Errorf("gate: %d read, %d settled or out", g.counts.Read, got)
	}
	return nil
}
