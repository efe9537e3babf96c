package backfill

import (
	"container/heap"
	"fmt"
	"time"
)

// itemState is who has a batch.
type itemState uint8

const (
	itemWaiting  itemState = iota // here: for its turn or its pause
	itemOut                       // the caller
	itemDeciding                  // an AckFunc call
)

// item is one batch held for redelivery.
type item[B any] struct {
	b        B
	ack      AckFunc
	lane     string
	seq      uint64 // read order
	state    itemState
	attempts int       // handouts so far
	due      time.Time // when waiting after a failure
	err      error     // of the last failure
}

// lane is one partition: its items in read order.
type lane[B any] struct {
	items []*item[B]
	out   int           // out or deciding
	ready *readiness[B] // its place in the heap, nil when it waits for an ack
}

// readiness is when a lane can next hand something out.
type readiness[B any] struct {
	lane  *lane[B]
	at    time.Time // zero: now
	seq   uint64
	index int
}

// lanes is the pure core of Redelivering: it decides what may be handed out.
//
// Invariant: an item waits behind every earlier item of its lane that failed or
// waits, and behind all of them when as many as per are out.
type lanes[B any] struct {
	per  int
	held int
	seq  uint64
	by   map[string]*lane[B]
	heap readyHeap[B]
}

func newLanes[B any](per int) lanes[B] { return lanes[B]{per: per, by: map[string]*lane[B]{}} }

func (l *lanes[B]) add(it *item[B]) {
	l.seq++
	it.seq = l.seq
	ln := l.by[it.lane]
	if ln == nil {
		ln = &lane[B]{}
		l.by[it.lane] = ln
	}
	ln.items = append(ln.items, it)
	l.held++
	l.rank(ln)
}

// candidate is the item a lane hands out next: the first that waits, and only
// while no earlier one is out on a second or later attempt.
func (ln *lane[B]) candidate(per int) *item[B] {
	if ln.out >= per {
		return nil
	}
	for _, it := range ln.items {
		if it.state == itemWaiting {
			return it
		}
		if it.attempts > 1 {
			return nil // being tried again: nothing overtakes it
		}
	}
	return nil
}

// rank puts a lane where it belongs in the heap.
func (l *lanes[B]) rank(ln *lane[B]) {
	c := ln.candidate(l.per)
	switch {
	case c == nil && ln.ready != nil:
		heap.Remove(&l.heap, ln.ready.index)
		ln.ready = nil
	case c != nil && ln.ready == nil:
		ln.ready = &readiness[B]{lane: ln, at: c.due, seq: c.seq}
		heap.Push(&l.heap, ln.ready)
	case c != nil:
		ln.ready.at, ln.ready.seq = c.due, c.seq
		heap.Fix(&l.heap, ln.ready.index)
	}
}

// next takes out the item whose turn has come, or says how long until one's
// turn comes, 0 if that takes an ack or a new batch.
func (l *lanes[B]) next(now time.Time) (*item[B], time.Duration) {
	if len(l.heap) == 0 {
		return nil, 0
	}
	top := l.heap[0]
	if wait := top.at.Sub(now); !top.at.IsZero() && wait > 0 {
		return nil, wait
	}
	ln := top.lane
	it := ln.candidate(l.per)
	it.state, it.due = itemOut, time.Time{}
	it.attempts++
	ln.out++
	l.rank(ln)
	return it, 0
}

// retry gives an item back after a failure.
func (l *lanes[B]) retry(it *item[B], due time.Time) {
	ln := l.by[it.lane]
	it.state, it.due = itemWaiting, due
	ln.out--
	l.rank(ln)
}

// remove ends an item.
func (l *lanes[B]) remove(it *item[B]) {
	ln := l.by[it.lane]
	for i, other := range ln.items {
		if other == it {
			if it.state != itemWaiting {
				ln.out--
			}
			copy(ln.items[i:], ln.items[i+1:])
			ln.items[len(ln.items)-1] = nil
			ln.items = ln.items[:len(ln.items)-1]
			break
		}
	}
	l.held--
	if len(ln.items) == 0 {
		if ln.ready != nil {
			heap.Remove(&l.heap, ln.ready.index)
		}
		delete(l.by, it.lane)
		return
	}
	l.rank(ln)
}

// idle are the items that nobody has.
func (l *lanes[B]) idle() []*item[B] {
	var out []*item[B]
	for _, ln := range l.by {
		for _, it := range ln.items {
			if it.state == itemWaiting {
				out = append(out, it)
			}
		}
	}
	return out
}

// check walks the structure; tests call it after every step.
func (l *lanes[B]) check() error {
	held := 0
	ready := 0
	for name, ln := range l.by {
		out := 0
		var last uint64
		for _, it := range ln.items {
			if it.seq <= last || it.lane != name {
				return fmt.Errorf("lanes: %q out of order at %d", name, it.seq)
			}
			last = it.seq
			held++
			if it.state != itemWaiting {
				out++
			}
		}
		if out != ln.out || out > l.per || len(ln.items) == 0 {
			return fmt.Errorf("lanes: %q has %d out of at most %d, counts %d, holds %d", name, out, l.per, ln.out, len(ln.items))
		}
		c := ln.candidate(l.per)
		if (c != nil) != (ln.ready != nil) {
			return fmt.Errorf("lanes: %q is misplaced", name)
		}
		if r := ln.ready; r != nil {
			ready++
			if r.index >= len(l.heap) || l.heap[r.index] != r || r.seq != c.seq || !r.at.Equal(c.due) {
				return fmt.Errorf("lanes: %q is badly placed at %d", name, r.index)
			}
		}
	}
	if held != l.held || ready != len(l.heap) {
		return fmt.Errorf("lanes: %d held, counted %d; %d ready, heap of %d", held, l.held, ready, len(l.heap))
	}
	return nil
}

type readyHeap[B any] []*readiness[B]

func (h readyHeap[B]) Len() int { return len(h) }
func (h readyHeap[B]) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h readyHeap[B]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *readyHeap[B]) Push(x any) {
	r := x.(*readiness[B])
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *readyHeap[B]) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}
