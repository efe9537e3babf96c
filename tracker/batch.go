package tracker

import (
	"context"
	"slices"
)

// Item is what TrackAll tracks.
type Item[P any] struct {
	Position P
	Weight   int64
	// Hold makes it an item of TrackHold; Position is then not used.
	Hold bool
}

// flag returns what the slot of the item is marked with.
func (it *Item[P]) flag() uint64 {
	if it.Hold {
		return 0
	}
	return rests
}

// TrackAll tracks items in their order under one lock, all or none, and appends
// their tickets, in the same order, to into, so that a page of records costs
// one call and, with an into of the right capacity, no allocation. For the
// limit they are one item of their summed weight (T6): waiting in the middle
// would wait for tickets that the caller has not got yet. Otherwise like Track.
// items is read until TrackAll returns, and not kept.
func (f *Frontier[P]) TrackAll(ctx context.Context, items []Item[P], into []Ticket[P]) ([]Ticket[P], error) {
	if err := ctx.Err(); err != nil {
		return into, err
	}
	var weight int64
	for i := range items {
		checkWeight(items[i].Weight)
		weight += items[i].Weight
	}
	checkWeight(weight) // a sum that overflowed
	f.mu.Lock()
	if f.state&closed != 0 {
		defer f.mu.Unlock()
		return into, f.closedLocked()
	}
	if len(items) > 0 && !f.admitLocked(weight) {
		return f.waitAndUnlock(ctx, items, weight, into)
	}
	into = f.pushAllLocked(items, into)
	f.mu.Unlock()
	return into, nil
}

// AckAll acks tickets as Ack would, one after another, and returns how many it
// settled; the others were stale (T3). The lock is taken once for each run of
// tickets of one Frontier, and its OnAdvance runs at most once a run.
func AckAll[P any](tickets []Ticket[P]) (settled int) {
	for len(tickets) > 0 {
		f, n := tickets[0].f, 1
		for n < len(tickets) && tickets[n].f == f {
			n++
		}
		if f != nil {
			settled += f.ackRun(tickets[:n])
		}
		tickets = tickets[n:]
	}
	return settled
}

func (f *Frontier[P]) ackRun(tickets []Ticket[P]) (settled int) {
	f.mu.Lock()
	slots, moved := f.slots, false
	for i := 0; i < len(tickets); {
		first, ok := f.findLocked(tickets[i])
		if !ok {
			f.stale++
			i++
			continue
		}
		// Tickets that follow each other here mostly do so in the ring: such a
		// stretch is unlinked, folded and freed as one.
		var (
			pos, none P
			rest      uint64
			weight    int64
			last      = first
			before    = slots[first].before
		)
		for {
			s := &slots[last]
			if s.seq&rests != 0 {
				pos, rest = s.pos, rests
			}
			s.seq, s.pos = 0, none
			weight += tickets[i].weight
			settled++
			if i++; i == len(tickets) {
				break
			}
			if t := &tickets[i]; t.slot != s.after || slots[t.slot].seq&^flags != t.seq {
				break
			}
			last = tickets[i].slot
		}
		p, after := &slots[before], slots[last].after
		p.after = after
		slots[after].before = before
		if rest != 0 {
			p.pos = pos
			p.seq |= rest
			moved = moved || before == 0
		}
		slots[last].after, f.free = f.free, first
		f.gone += weight
	}
	was := f.state
	if settled > 0 {
		f.settled[acked] += uint64(settled)
		if f.state != 0 && f.afterSettleLocked(tickets...) {
			moved = true
		}
	}
	if moved {
		f.version++
	}
	next := f.returnLoanLocked(was)
	empty := settled > 0 && f.outstandingLocked() == 0
	f.mu.Unlock()
	if next {
		f.pool.wake()
	}
	if (moved || empty) && f.onAdvance != nil {
		f.onAdvance()
	}
	return settled
}

// pushAllLocked appends items to the ring and their tickets to into.
func (f *Frontier[P]) pushAllLocked(items []Item[P], into []Ticket[P]) []Ticket[P] {
	if len(items) == 0 {
		return into
	}
	into = slices.Grow(into, len(items))
	tickets := into[len(into) : len(into)+len(items)]
	if len(f.slots) == 0 {
		f.slots = make([]slot[P], 1, len(items)+1)
	}
	slots, free, seq, total := f.slots, f.free, f.seq, f.total
	last := slots[0].before
	for k := range items {
		it := &items[k]
		i := free
		if i == 0 {
			i = f.growLocked()
			slots = f.slots
		} else {
			free = slots[i].after
		}
		slots[last].after = i
		s := &slots[i]
		seq++
		s.before, s.base = last, total
		s.seq = seq
		if !it.Hold {
			s.seq = seq | rests
			s.pos = it.Position
		}
		total += it.Weight
		tickets[k] = Ticket[P]{f: f, seq: seq, weight: it.Weight, slot: i}
		last = i
	}
	slots[last].after = 0
	slots[0].before = last
	f.free, f.seq, f.total = free, seq, total
	return into[:len(into)+len(items)]
}
