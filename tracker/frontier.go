package tracker

import (
	"context"
	"sync"
)

// Config sets up a Frontier. The zero value is ready: no limit, no hook.
type Config struct {
	// Limit bounds the outstanding weight (T6), in the unit of the weights that
	// are tracked. Default 0: no limit.
	Limit int64

	// OnAdvance, if set, runs after a settle, Seal included, that moved the
	// frontier, completed it or left nothing outstanding, in the settling
	// goroutine and outside the frontier's lock. Several may run at once and
	// in any order: read Position again, never rely on their order.
	OnAdvance func()
}

// Frontier tracks the items of one partition. The zero value is ready to use:
// no limit, no hook. It must not be copied after first use.
type Frontier[P any] struct {
	mu sync.Mutex

	// Guarded by mu. First what every Track and settle touches: beside four
	// locked instructions they cost a dozen stores, and each more would show.
	slots []slot[P] // the ring of outstanding items; empty before the first
	free  uint32    // first free slot, 0: none
	state state
	seq   uint64 // of the newest item: also how many were tracked
	total int64  // weight ever tracked
	gone  int64  // weight ever settled

	version uint64    // raised whenever position or completion changed
	settled [2]uint64 // how many tickets ended, by how

	nacked, stale uint64
	moved         map[uint64]uint32 // where shrinking put items, by seq; mostly nil
	waiting       line[*waiter[P]]
	lent          int64         // what this member has borrowed from pool
	done          chan struct{} // made by the first Done

	// Set by New and Group.Add, never changed.
	limit     int64
	pool      *pool[P]             // nil, or of the Group
	standing  *place[*Frontier[P]] // in pool's line
	onAdvance func()
}

// state is a set of conditions, so that the usual case, none, is one test.
type state uint32

const (
	sealed  state = 1 << iota // Seal was called
	dropped                   // Abandon was called
	crowded                   // calls wait for room
	large                     // more slots than keepSlots, or some were moved
	member                    // of a Group: has a pool

	closed = sealed | dropped
)

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
	f.mu.Lock()
	// pushLocked spelled out for the usual case, a free slot and no questions.
	i := f.free
	if i == 0 || weight < 0 || f.state&(closed|crowded) != 0 ||
		f.limit != 0 && weight > f.limit-(f.total-f.gone) {
		return f.trackAndUnlock(ctx, Item[P]{Position: pos, Weight: weight})
	}
	slots := f.slots
	ring, s := &slots[0], &slots[i]
	last := ring.before
	f.free = s.after
	s.before, s.after = last, 0
	ring.before = i
	slots[last].after = i
	s.base = f.total
	f.total += weight
	seq := f.seq + 1
	f.seq = seq
	s.seq = seq | rests
	s.pos = pos
	f.mu.Unlock()
	return Ticket[P]{f: f, seq: seq, weight: weight, slot: i}, nil
}

// TrackHold adds an item that must settle, but that the frontier may not rest
// on (T9): all batches of a transaction but its last. Otherwise like Track.
func (f *Frontier[P]) TrackHold(ctx context.Context, weight int64) (Ticket[P], error) {
	if err := ctx.Err(); err != nil {
		return Ticket[P]{}, err
	}
	f.mu.Lock()
	return f.trackAndUnlock(ctx, Item[P]{Weight: weight, Hold: true})
}

// TryTrack is Track that fails with ErrLimit instead of waiting, also while
// others wait: it does not overtake them.
func (f *Frontier[P]) TryTrack(pos P, weight int64) (Ticket[P], error) {
	checkWeight(weight)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state&closed != 0 {
		return Ticket[P]{}, f.closedLocked()
	}
	if !f.admitLocked(weight) {
		return Ticket[P]{}, ErrLimit
	}
	return f.pushLocked(pos, weight, rests), nil
}

func (f *Frontier[P]) trackAndUnlock(ctx context.Context, item Item[P]) (Ticket[P], error) {
	if item.Weight < 0 {
		f.mu.Unlock()
		checkWeight(item.Weight)
	}
	if f.state&closed != 0 {
		defer f.mu.Unlock()
		return Ticket[P]{}, f.closedLocked()
	}
	if f.admitLocked(item.Weight) {
		t := f.pushLocked(item.Position, item.Weight, item.flag())
		f.mu.Unlock()
		return t, nil
	}
	tickets, err := f.waitAndUnlock(ctx, []Item[P]{item}, item.Weight, nil)
	if err != nil {
		return Ticket[P]{}, err
	}
	return tickets[0], nil
}

// Seal says that no more items will be tracked (T5); calls waiting in Track end
// with ErrSealed. False: sealed or abandoned before, nothing changed.
func (f *Frontier[P]) Seal() bool {
	f.mu.Lock()
	if f.state&closed != 0 {
		f.mu.Unlock()
		return false
	}
	f.state |= sealed
	f.failWaitersLocked(ErrSealed)
	completed := f.completeLocked()
	if completed {
		f.version++
		f.closeDoneLocked()
	}
	f.mu.Unlock()
	if f.pool != nil {
		f.pool.wake() // the next in the pool's queue, where f may have stood
	}
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
// False: abandoned or complete before, nothing changed; what was completed
// stays so.
func (f *Frontier[P]) Abandon() bool {
	f.mu.Lock()
	if f.state&dropped != 0 || f.completeLocked() {
		f.mu.Unlock()
		return false
	}
	f.failWaitersLocked(ErrAbandoned)
	prefix := f.prefixLocked()
	f.total, f.gone = prefix, prefix
	f.returnLoanLocked(f.state)
	f.state |= dropped
	if len(f.slots) > 0 {
		ring := f.slots[0]
		ring.before, ring.after = 0, 0
		f.slots = []slot[P]{ring}
	}
	f.free, f.moved = 0, nil
	f.mu.Unlock()
	if f.pool != nil {
		f.pool.wake()
	}
	return true
}

// closeDoneLocked closes Done if anybody asked for it; later ones get it closed.
func (f *Frontier[P]) closeDoneLocked() {
	if f.done != nil {
		close(f.done)
	}
}

func (f *Frontier[P]) closedLocked() error {
	if f.state&dropped != 0 {
		return ErrAbandoned
	}
	return ErrSealed
}

func (f *Frontier[P]) completeLocked() bool {
	return f.state&closed == sealed && f.outstandingLocked() == 0
}

func (f *Frontier[P]) outstandingLocked() int {
	if f.state&dropped != 0 {
		return 0
	}
	return int(f.seq - f.settled[acked] - f.settled[discarded])
}

func checkWeight(weight int64) {
	if weight < 0 {
		panic("tracker: negative weight")
	}
}
