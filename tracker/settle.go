package tracker

// settling is how a ticket ends.
type settling uint8

const (
	acked settling = iota
	discarded

	// locked says that the caller of settle holds the lock already.
	locked settling = 1 << 7
)

// settle ends an outstanding ticket and unlocks. It is one function, and what
// is rare is called in tail position, so that nothing has to be kept on the
// stack for it: nearly all of an ack is the lock, and the rest should stay so.
func (f *Frontier[P]) settle(t Ticket[P], how settling) bool {
	if how&locked == 0 {
		f.mu.Lock()
	}
	slots, i := f.slots, t.slot
	if int(i) >= len(slots) || slots[i].seq&^flags != t.seq {
		return f.settleMovedAndUnlock(t, how)
	}
	s := &slots[i]
	before, after := s.before, s.after
	p := &slots[before]
	p.after = after
	slots[after].before = before
	moved := false
	if s.seq&rests != 0 {
		p.pos = s.pos
		if before == 0 {
			p.seq = rests
			f.version++
			moved = true
		} else {
			p.seq |= rests
		}
	}
	// Zeroed, so that a free slot keeps nothing of the caller's alive.
	var none P
	s.seq, s.after, s.pos = 0, f.free, none
	f.free = i
	f.gone += t.weight
	f.settled[how&1]++
	if f.state != 0 {
		return f.afterSettleAndUnlock(t, moved)
	}
	if f.onAdvance != nil {
		return f.unlockAndTell(moved || before|after == 0)
	}
	f.mu.Unlock()
	return true
}

func (f *Frontier[P]) unlockAndTell(advanced bool) bool {
	f.mu.Unlock()
	if advanced {
		f.onAdvance()
	}
	return true
}

// settleMovedAndUnlock settles an item that is not where its ticket says: it
// was moved, or the ticket is stale.
func (f *Frontier[P]) settleMovedAndUnlock(t Ticket[P], how settling) bool {
	at, ok := f.moved[t.seq]
	if !ok {
		f.stale++
		f.mu.Unlock()
		return false
	}
	t.slot = at
	return f.settle(t, how|locked)
}

func (f *Frontier[P]) afterSettleAndUnlock(t Ticket[P], moved bool) bool {
	was := f.state
	completed := f.afterSettleLocked(t)
	if completed && !moved {
		f.version++
	}
	next := f.returnLoanLocked(was)
	empty := f.outstandingLocked() == 0
	f.mu.Unlock()
	if next {
		f.pool.wake()
	}
	if (moved || empty) && f.onAdvance != nil {
		f.onAdvance()
	}
	return true
}

// afterSettleLocked does what the end of items calls for in an unusual state,
// and reports whether the frontier is complete now.
func (f *Frontier[P]) afterSettleLocked(settled ...Ticket[P]) (completed bool) {
	if f.state&crowded != 0 {
		f.grantLocked()
	}
	if f.state&large != 0 {
		if f.moved != nil {
			for i := range settled {
				delete(f.moved, settled[i].seq)
			}
		}
		f.shrinkLocked()
	}
	if f.completeLocked() {
		f.closeDoneLocked()
		return true
	}
	return false
}
