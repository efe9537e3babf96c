package tracker

import "context"

// A waiter is one Track call that waits for room. Whoever makes room tracks the
// items on its behalf, in the order the calls came, and then wakes it: there is
// no wake-up to lose and no race for the room that was made.
type waiter[P any] struct {
	items  []Item[P]
	weight int64 // of all items

	ready   chan struct{} // closed once tickets or err is set
	tickets []Ticket[P]
	err     error

	prev, next *waiter[P]
	queued     bool
}

// waiters is a FIFO list; an element can leave from anywhere in O(1).
type waiters[P any] struct{ head, tail *waiter[P] }

func (l *waiters[P]) push(w *waiter[P]) {
	w.prev, w.queued = l.tail, true
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
}

func (l *waiters[P]) remove(w *waiter[P]) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
}

// admitsLocked says whether weight may go in flight now (T6).
func (f *Frontier[P]) admitsLocked(weight int64) bool {
	if f.outstandingLocked() == 0 {
		return true
	}
	return weight <= f.limit-f.weight
}

// grantLocked tracks the items of the waiters there is room for, first come
// first served: a heavy item is not overtaken by light ones for ever.
func (f *Frontier[P]) grantLocked() {
	for w := f.waiting.head; w != nil && f.admitsLocked(w.weight); w = f.waiting.head {
		f.waiting.remove(w)
		w.tickets = f.pushAllLocked(w.items, w.tickets)
		close(w.ready)
	}
}

// failWaitersLocked ends every waiting call with err.
func (f *Frontier[P]) failWaitersLocked(err error) {
	for w := f.waiting.head; w != nil; w = f.waiting.head {
		f.waiting.remove(w)
		w.err = err
		close(w.ready)
	}
}

// waitAndUnlock queues w and blocks until it was granted, refused or cancelled.
func (f *Frontier[P]) waitAndUnlock(ctx context.Context, w *waiter[P]) ([]Ticket[P], error) {
	w.ready = make(chan struct{})
	f.waiting.push(w)
	f.mu.Unlock()
	select {
	case <-w.ready:
		return w.tickets, w.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !w.queued {
		// Granted while ctx ended. The items are in the ring, in order, and
		// taking them out again would drop a position: the call succeeded.
		return w.tickets, w.err
	}
	f.waiting.remove(w)
	// The room that w waited for may do for those behind it.
	f.grantLocked()
	return w.tickets, ctx.Err()
}
