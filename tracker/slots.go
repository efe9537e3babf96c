package tracker

import "math"

// A slot is one outstanding item, linked in track order. Slot 0 is the
// sentinel that closes the ring: its after is the first outstanding item, its
// before the newest, and its pos is the frontier itself. So settling has one
// shape: hand the position to the slot before, whoever that is.
//
// Invariant: 24 bytes + P. What only a settle needs is in the Ticket.
type slot[P any] struct {
	// seq is 0 in a free slot and in the sentinel, flags aside.
	seq    uint64
	before uint32
	after  uint32 // in a free slot: the next free one, 0 at the end
	// base is the weight tracked before this item; the first outstanding
	// item's base is therefore the weight of the settled prefix.
	base int64
	// pos is where the frontier may rest once this item is settled: its own
	// position, or that of the last item that settled behind it. Meaningful
	// only with the rests flag.
	pos P
}

const (
	rests  = 1 << 63 // pos is set: the frontier may rest here (T9)
	failed = 1 << 62 // nacked at least once
	flags  = rests | failed
)

// A Frontier keeps this many slots without giving memory back, so that pages of
// up to a thousand items come and go without an allocation. A variable only for
// tests, which reach the moving of slots with fewer.
var keepSlots = 1024

// Above keepSlots the slots are moved to a smaller slice when fewer than one in
// sparse is in use: rare enough that moving costs O(1) a settled item. A variable
// for the same reason.
var sparse = 16

// pushLocked appends an item to the ring and returns its ticket.
func (f *Frontier[P]) pushLocked(pos P, weight int64, flag uint64) Ticket[P] {
	i := f.free
	if i == 0 {
		i = f.growLocked()
	} else {
		f.free = f.slots[i].after
	}
	ring, s := &f.slots[0], &f.slots[i]
	f.seq++
	*s = slot[P]{seq: f.seq | flag, before: ring.before, base: f.total, pos: pos}
	f.slots[ring.before].after = i
	ring.before = i
	f.total += weight
	return Ticket[P]{f: f, seq: f.seq, weight: weight, slot: i}
}

// growLocked returns a slot that was never used.
func (f *Frontier[P]) growLocked() uint32 {
	if len(f.slots) == 0 {
		f.slots = make([]slot[P], 1, 8)
	}
	if uint64(len(f.slots)) > math.MaxUint32 {
		panic("tracker: 4294967295 items are outstanding; set a limit")
	}
	f.slots = append(f.slots, slot[P]{})
	if len(f.slots)-1 > keepSlots {
		f.state |= large
	}
	return uint32(len(f.slots) - 1)
}

// findLocked returns the slot of an outstanding ticket; false if it is stale.
func (f *Frontier[P]) findLocked(t Ticket[P]) (uint32, bool) {
	if int(t.slot) < len(f.slots) && f.slots[t.slot].seq&^flags == t.seq {
		return t.slot, true
	}
	// A nil map answers too: only items that were moved are in it, and within
	// one AckAll also those that it has settled already.
	i, ok := f.moved[t.seq]
	return i, ok && f.slots[i].seq&^flags == t.seq
}

// shrinkLocked moves the outstanding items to a slice of their size once they
// are few (T8). Their tickets still name the old slots and find the new ones
// through moved.
//
// The alternative, slots in pages that are freed one by one, cannot give back
// a page for as long as one item in it is out.
func (f *Frontier[P]) shrinkLocked() {
	n := f.outstandingLocked()
	if len(f.slots)-1 <= keepSlots {
		if len(f.moved) == 0 {
			f.moved = nil
			f.state &^= large
		}
		return
	}
	if n >= len(f.slots)/sparse {
		return
	}
	slots := make([]slot[P], 1, 1+max(2*n, 64))
	slots[0] = f.slots[0]
	slots[0].before, slots[0].after = uint32(n), 0
	f.moved = nil
	if n > 0 {
		slots[0].after = 1
		f.moved = make(map[uint64]uint32, n)
	}
	for i := f.slots[0].after; i != 0; i = f.slots[i].after {
		s, at := f.slots[i], uint32(len(slots))
		f.moved[s.seq&^flags] = at
		s.before, s.after = at-1, at+1
		if int(at) == n {
			s.after = 0
		}
		slots = append(slots, s)
	}
	f.slots, f.free = slots, 0
	if n == 0 {
		f.state &^= large
	}
}
