package tracker

import (
	"context"
	"math"
)

// A waiter is one call that waits for room. Whoever makes room tracks the items
// on its behalf, in the order in which the calls came, and then wakes it: there
// is no wake-up to lose and no race for the room that was made.
type waiter[P any] struct {
	items  []Item[P]
	weight int64 // of all items

	ready   chan struct{} // closed once tickets or err is set
	tickets []Ticket[P]
	err     error
}

// admitLocked takes room for a newcomer of this weight; false: it has to wait.
func (f *Frontier[P]) admitLocked(weight int64) bool {
	if f.limit == 0 {
		return true
	}
	return f.state&crowded == 0 && f.takeLocked(weight)
}

// takeLocked takes room for weight if there is (T6): it fits into the limit
// together with what is out, or into what the group lends, or nothing is out.
func (f *Frontier[P]) takeLocked(weight int64) bool {
	out := f.total - f.gone
	if weight <= f.limit-out {
		return true
	}
	alone := f.outstandingLocked() == 0
	if f.pool == nil || weight > math.MaxInt64-out {
		return alone
	}
	more := out + weight - f.limit - f.lent
	if more > 0 {
		if !f.pool.borrow(f, more, alone) {
			return false
		}
		f.lent += more
	}
	return true
}

// grantLocked tracks the items of the waiters there is room for, first come
// first served: a heavy item is not overtaken by light ones for ever.
func (f *Frontier[P]) grantLocked() {
	for e := f.waiting.head; e != nil && f.takeLocked(e.of.weight); e = f.waiting.head {
		f.unwaitLocked(e)
		w := e.of
		w.tickets = f.pushAllLocked(w.items, w.tickets)
		close(w.ready)
	}
}

// failWaitersLocked ends every waiting call with err.
func (f *Frontier[P]) failWaitersLocked(err error) {
	for e := f.waiting.head; e != nil; e = f.waiting.head {
		f.unwaitLocked(e)
		e.of.err = err
		close(e.of.ready)
	}
}

func (f *Frontier[P]) unwaitLocked(e *place[*waiter[P]]) {
	f.waiting.remove(e)
	if f.waiting.head == nil {
		f.state &^= crowded
		if f.pool != nil {
			f.pool.leave(f)
		}
	}
}

// waitAndUnlock queues items and blocks until they were tracked, refused or
// cancelled.
func (f *Frontier[P]) waitAndUnlock(ctx context.Context, items []Item[P], weight int64, into []Ticket[P]) ([]Ticket[P], error) {
	w := &waiter[P]{items: items, weight: weight, tickets: into, ready: make(chan struct{})}
	e := &place[*waiter[P]]{of: w}
	f.waiting.push(e)
	f.state |= crowded
	if f.pool != nil {
		f.pool.join(f)
	}
	f.mu.Unlock()
	if f.pool != nil {
		// Room given back after f was refused and before it stood in line was
		// offered to nobody.
		f.pool.wake()
	}
	select {
	case <-w.ready:
		return w.tickets, w.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	if !e.taken {
		// Granted while ctx ended. The items are in the ring, in order, and
		// taking them out again could drop a position: the call succeeded.
		f.mu.Unlock()
		return w.tickets, w.err
	}
	f.unwaitLocked(e)
	// The room that w waited for may do for those behind it.
	f.grantLocked()
	f.mu.Unlock()
	if f.pool != nil {
		f.pool.wake()
	}
	return into, ctx.Err()
}
