package tracker

// A slot is one outstanding item, linked in track order. Slot 0 is the
// sentinel that closes the ring: its after is the first outstanding item, its
// before the newest, and its pos is the frontier itself. So settling has one
// shape: hand the position to the slot before, whoever that is.
//
// Invariant: 24 bytes + P. Everything that only a settle needs is in the Ticket.
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

const (
	// A Frontier keeps this many slots without giving memory back, so that
	// pages of up to a thousand items come and go without an allocation.
	keepSlots = 1024
	// Above it the slots are moved to a smaller slice when fewer than one in
	// sparse is in use: rare enough that moving costs O(1) a settled item.
	sparse = 16
)

// pushLocked appends an item to the ring and returns its ticket.
func (f *Frontier[P]) pushLocked(pos P, weight int64, flag uint64) Ticket[P] {
	i := f.free
	if i == 0 {
		if len(f.slots) == 0 {
			f.slots = make([]slot[P], 1, 8)
		}
		i = uint32(len(f.slots))
		f.slots = append(f.slots, slot[P]{})
	} else {
		f.free = f.slots[i].after
	}
	f.seq++
	s, ring := &f.slots[i], &f.slots[0]
	s.seq = f.seq | flag
	s.before, s.after = ring.before, 0
	s.base = f.total
	s.pos = pos
	f.slots[ring.before].after = i
	ring.before = i
	f.total += weight
	f.weight += weight
	return Ticket[P]{f: f, seq: f.seq, weight: weight, slot: i}
}

// findLocked returns the slot of an outstanding ticket; false if it is stale.
func (f *Frontier[P]) findLocked(t Ticket[P]) (uint32, bool) {
	if int(t.slot) < len(f.slots) && f.slots[t.slot].seq&^flags == t.seq {
		return t.slot, true
	}
	// A nil map answers too: only items that were moved are in it.
	i, ok := f.moved[t.seq]
	return i, ok
}

// unlinkLocked takes slot i out of the ring, folds it into its predecessor and
// reports whether that moved the frontier.
func (f *Frontier[P]) unlinkLocked(i uint32, t Ticket[P]) (moved bool) {
	s := &f.slots[i]
	p := &f.slots[s.before]
	if s.seq&rests != 0 {
		p.pos = s.pos
		p.seq |= rests
		moved = s.before == 0
	}
	p.after = s.after
	f.slots[s.after].before = s.before
	// Zeroed, so that a free slot keeps nothing of the caller's alive.
	*s = slot[P]{after: f.free}
	f.free = i
	f.weight -= t.weight
	if f.moved != nil {
		delete(f.moved, t.seq)
	}
	return moved
}

// shrinkLocked moves the outstanding items to a slice of their size (T8).
// Their tickets still name the old slots and find the new ones through moved.
func (f *Frontier[P]) shrinkLocked() {
	n := f.outstandingLocked()
	slots := make([]slot[P], 1, max(4*n, 64))
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
}
