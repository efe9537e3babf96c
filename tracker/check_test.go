package tracker

import (
	"errors"
	"fmt"
)

// check walks the whole structure. Every property calls it after every step.
func (f *Frontier[P]) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.slots) == 0 {
		if f.seq != 0 || f.free != 0 {
			return errors.New("no slots, but something was tracked")
		}
		return f.checkWaiting()
	}
	if ring := f.slots[0]; ring.seq&^rests != 0 || ring.base != 0 {
		return fmt.Errorf("the sentinel looks like an item: %+v", ring)
	}
	used := make([]bool, len(f.slots))
	used[0] = true
	var n, last int
	var lastSeq uint64
	base := int64(-1)
	for i := f.slots[0].after; i != 0; i = f.slots[i].after {
		s := f.slots[i]
		switch {
		case used[i]:
			return fmt.Errorf("slot %d is in the ring twice", i)
		case int(s.before) != last:
			return fmt.Errorf("slot %d comes after %d but says after %d", i, last, s.before)
		case s.seq&^flags <= lastSeq || s.seq&^flags > f.seq:
			return fmt.Errorf("slot %d: number %d after %d of %d", i, s.seq&^flags, lastSeq, f.seq)
		case s.base < base || s.base > f.total:
			return fmt.Errorf("slot %d: base %d after %d of %d", i, s.base, base, f.total)
		}
		used[i] = true
		last, lastSeq, base = int(i), s.seq&^flags, s.base
		n++
	}
	if int(f.slots[0].before) != last {
		return fmt.Errorf("the ring ends at %d, the sentinel says %d", last, f.slots[0].before)
	}
	if n != f.outstandingLocked() {
		return fmt.Errorf("%d items in the ring, %d by the counters", n, f.outstandingLocked())
	}
	for i := f.free; i != 0; i = f.slots[i].after {
		if used[i] {
			return fmt.Errorf("slot %d is free and in use, or free twice", i)
		}
		used[i] = true
		if f.slots[i].seq != 0 {
			return fmt.Errorf("free slot %d still has number %d", i, f.slots[i].seq)
		}
		if any(f.slots[i].pos) != any(*new(P)) {
			return fmt.Errorf("free slot %d keeps %v alive", i, f.slots[i].pos)
		}
	}
	for i, u := range used {
		if !u {
			return fmt.Errorf("slot %d is lost: neither in the ring nor free", i)
		}
	}
	for seq, i := range f.moved {
		if int(i) >= len(f.slots) || f.slots[i].seq&^flags != seq {
			return fmt.Errorf("moved says that number %d is in slot %d: it is not", seq, i)
		}
	}
	if big := len(f.slots)-1 > keepSlots || f.moved != nil; big && f.state&large == 0 {
		return fmt.Errorf("%d slots, %d moved, and not marked large", len(f.slots), len(f.moved))
	}
	// T8, by its number; the allocator rounds small slices up.
	if kept := cap(f.slots); kept > max(2*keepSlots+1, 65) && kept > 3*sparse*(n+1) {
		return fmt.Errorf("%d slots kept for %d items", kept, n)
	}
	return f.checkWaiting()
}

func (f *Frontier[P]) checkWaiting() error {
	n := 0
	var last *place[*waiter[P]]
	for e := f.waiting.head; e != nil; last, e = e, e.next {
		if e.prev != last || !e.taken {
			return errors.New("the line of waiting calls is broken")
		}
		n++
	}
	if f.waiting.tail != last || f.waiting.n != n {
		return fmt.Errorf("%d calls wait, counted %d", n, f.waiting.n)
	}
	if crowd := f.state&crowded != 0; crowd != (n > 0) {
		return fmt.Errorf("crowded is %v with %d calls waiting", crowd, n)
	}
	if n > 0 && f.limit == 0 {
		return errors.New("calls wait without a limit")
	}
	if n > 0 && f.pool == nil && (f.waiting.head.of.weight <= f.limit-(f.total-f.gone) || f.outstandingLocked() == 0) {
		return errors.New("the first of the line waits although there is room")
	}
	return nil
}
