package tracker

import (
	"context"
	"sync"
)

// Config sets up a Frontier. The zero value is ready: no limit, no hook.
type Config struct {
	// Limit bounds the outstanding weight (T6). Default 0: no limit.
	Limit int64

	// OnAdvance, if set, runs after a settle, Seal included, that moved the
	// frontier or completed it, in the settling goroutine and outside the
	// frontier's lock. Several may run at once and in any order: read
	// Position again, never rely on their order.
	OnAdvance func()
}

// Frontier tracks the items of one partition. The zero value is ready to use:
// no limit, no hook. It must not be copied after first use.
type Frontier[P any] struct {
	mu sync.Mutex

	// Guarded by mu.
	slots   []slot[P]         // the ring of outstanding items; empty before the first
	free    uint32            // first free slot, 0: none
	sealed  bool              // Seal was called
	dropped bool              // Abandon was called
	seq     uint64            // of the newest item: also how many were tracked
	total   int64             // weight ever tracked
	weight  int64             // weight outstanding
	version uint64            // raised whenever position or completion changed
	moved   map[uint64]uint32 // where shrinking put items, by seq; mostly nil
	waiting waiters[P]
	done    chan struct{} // made by the first Done

	acked, discarded, nacked, stale uint64

	// Set by New, never changed.
	limit     int64
	onAdvance func()
}

// New returns a Frontier set up by cfg. A negative limit panics.
func New[P any](cfg Config) *Frontier[P] {
	if cfg.Limit < 0 {
		panic("tracker: negative limit; 0 means no limit")
	}
	return &Frontier[P]{limit: cfg.Limit, onAdvance: cfg.OnAdvance}
}

// Track adds an item at pos, in read order; it waits while over the limit. The
// order of the calls is the order of the items: calls of one partition come
// from one goroutine, or the caller orders them.
//
// A Track that fails tracked nothing: there is no ticket to settle. The errors
// are ctx.Err(), ErrSealed and ErrAbandoned. A negative weight panics.
func (f *Frontier[P]) Track(ctx context.Context, pos P, weight int64) (Ticket[P], error) {
	if err := ctx.Err(); err != nil {
		return Ticket[P]{}, err
	}
	return f.track(ctx, pos, weight, rests)
}

// TrackHold adds an item that must settle, but that the frontier may not rest
// on (T9): all batches of a transaction but its last.
func (f *Frontier[P]) TrackHold(ctx context.Context, weight int64) (Ticket[P], error) {
	if err := ctx.Err(); err != nil {
		return Ticket[P]{}, err
	}
	var none P
	return f.track(ctx, none, weight, 0)
}

// TryTrack is Track that fails with ErrLimit instead of waiting.
func (f *Frontier[P]) TryTrack(pos P, weight int64) (Ticket[P], error) {
	checkWeight(weight)
	f.mu.Lock()
	if f.sealed || f.dropped {
		defer f.mu.Unlock()
		return Ticket[P]{}, f.closedLocked()
	}
	if f.limit != 0 && (f.waiting.head != nil || !f.admitsLocked(weight)) {
		f.mu.Unlock()
		return Ticket[P]{}, ErrLimit
	}
	t := f.pushLocked(pos, weight, rests)
	f.mu.Unlock()
	return t, nil
}

func (f *Frontier[P]) track(ctx context.Context, pos P, weight int64, flag uint64) (Ticket[P], error) {
	checkWeight(weight)
	f.mu.Lock()
	if f.sealed || f.dropped {
		defer f.mu.Unlock()
		return Ticket[P]{}, f.closedLocked()
	}
	if f.limit != 0 && (f.waiting.head != nil || !f.admitsLocked(weight)) {
		item := Item[P]{Position: pos, Weight: weight, Hold: flag&rests == 0}
		tickets, err := f.waitAndUnlock(ctx, &waiter[P]{items: []Item[P]{item}, weight: weight})
		if err != nil {
			return Ticket[P]{}, err
		}
		return tickets[0], nil
	}
	t := f.pushLocked(pos, weight, flag)
	f.mu.Unlock()
	return t, nil
}

// settleAndUnlock ends what Ack and Discard began: the ticket was found in
// slot i and is counted.
func (f *Frontier[P]) settleAndUnlock(i uint32, t Ticket[P]) bool {
	moved := f.unlinkLocked(i, t)
	if f.afterSettleLocked() {
		moved = true
	}
	if moved {
		f.version++
	}
	f.mu.Unlock()
	if moved && f.onAdvance != nil {
		f.onAdvance()
	}
	return true
}

// afterSettleLocked does what the end of one or more items may call for, and
// reports whether the frontier is complete now.
func (f *Frontier[P]) afterSettleLocked() (completed bool) {
	if f.waiting.head != nil {
		f.grantLocked()
	}
	if len(f.slots) > keepSlots && f.outstandingLocked() < len(f.slots)/sparse {
		f.shrinkLocked()
	}
	if f.sealed && f.slots[0].after == 0 {
		f.closeDoneLocked()
		return true
	}
	return false
}

// Seal says that no more items will be tracked (T5); calls waiting in Track end
// with ErrSealed. False: sealed or abandoned before, nothing changed.
func (f *Frontier[P]) Seal() bool {
	f.mu.Lock()
	if f.sealed || f.dropped {
		f.mu.Unlock()
		return false
	}
	f.sealed = true
	f.failWaitersLocked(ErrSealed)
	completed := f.outstandingLocked() == 0
	if completed {
		f.version++
		f.closeDoneLocked()
	}
	f.mu.Unlock()
	if completed && f.onAdvance != nil {
		f.onAdvance()
	}
	return true
}

// Done is closed once sealed and everything settled (T5), and never because of
// Abandon.
func (f *Frontier[P]) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		f.done = make(chan struct{})
		if f.completeLocked() {
			close(f.done)
		}
	}
	return f.done
}

// Abandon ends the attempt: every outstanding ticket becomes stale and calls
// waiting in Track end with ErrAbandoned (T7). The position stays where it is.
// False: abandoned before, nothing changed.
func (f *Frontier[P]) Abandon() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped {
		return false
	}
	if f.completeLocked() {
		f.version++ // no longer complete in the sense of Snapshot
	}
	f.dropped = true
	f.failWaitersLocked(ErrAbandoned)
	if len(f.slots) > 0 {
		ring := f.slots[0]
		if ring.after != 0 {
			// The weight of the settled prefix, kept for Snapshot.
			f.total = f.slots[ring.after].base
		}
		ring.before, ring.after = 0, 0
		f.slots = []slot[P]{ring}
	}
	f.free, f.moved, f.weight = 0, nil, 0
	return true
}

// closeDoneLocked closes Done if anybody asked for it; later ones get it closed.
func (f *Frontier[P]) closeDoneLocked() {
	if f.done != nil {
		close(f.done)
	}
}

func (f *Frontier[P]) closedLocked() error {
	if f.dropped {
		return ErrAbandoned
	}
	return ErrSealed
}

func (f *Frontier[P]) completeLocked() bool {
	return f.sealed && !f.dropped && f.outstandingLocked() == 0
}

func (f *Frontier[P]) outstandingLocked() int {
	if f.dropped {
		return 0
	}
	return int(f.seq - f.acked - f.discarded)
}

func checkWeight(weight int64) {
	if weight < 0 {
		panic("tracker: negative weight")
	}
}
