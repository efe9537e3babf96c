package tracker

import "sync"

// pool is what a Group lends to members that need more than their share. A
// member whose calls wait stands in line and is served in its turn by whoever
// gives back.
//
// Lock order: a Frontier's mu, then the pool's. So the pool never calls into a
// Frontier with its lock held, and a Frontier wakes others only without its own.
type pool[P any] struct {
	limit int64

	mu   sync.Mutex
	lent int64
	line line[*Frontier[P]]
}

// borrow lends more to f unless others are before it. alone: f has nothing out
// and is served whatever others have borrowed, or they could starve it.
func (p *pool[P]) borrow(f *Frontier[P], more int64, alone bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.line.head == nil || p.line.head == f.standing
	if !alone && (!first || more > p.limit-p.lent) {
		return false
	}
	p.lent += more
	return true
}

// giveBack takes back what a member no longer needs.
func (p *pool[P]) giveBack(less int64) {
	p.mu.Lock()
	p.lent -= less
	p.mu.Unlock()
}

// join puts f in line, unless it stands there.
func (p *pool[P]) join(f *Frontier[P]) {
	p.mu.Lock()
	if !f.standing.taken {
		p.line.push(f.standing)
	}
	p.mu.Unlock()
}

// leave takes f out of the line: none of its calls wait any more.
func (p *pool[P]) leave(f *Frontier[P]) {
	p.mu.Lock()
	if f.standing.taken {
		p.line.remove(f.standing)
	}
	p.mu.Unlock()
}

func (p *pool[P]) first() *Frontier[P] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line.head == nil {
		return nil
	}
	return p.line.head.of
}

// wake serves the line until its first cannot be. Everybody who gives back or
// may have left the line calls it afterwards, so that no room goes unoffered.
func (p *pool[P]) wake() {
	for f := p.first(); f != nil; {
		f.mu.Lock()
		f.grantLocked()
		f.mu.Unlock()
		next := p.first()
		if next == f {
			return
		}
		f = next
	}
}

// returnLoanLocked gives back what the share covers again. It reports whether
// the line may move now, since something was given back or since f, which was in
// state was, has left it: then the caller wakes it, once it has unlocked.
func (f *Frontier[P]) returnLoanLocked(was state) (next bool) {
	if f.pool == nil {
		return false
	}
	next = was&crowded != 0 && f.state&crowded == 0
	if need := max(f.total-f.gone-f.limit, 0); need < f.lent {
		f.pool.giveBack(f.lent - need)
		f.lent = need
		next = true
	}
	return next
}
