package streamreader

import (
	"context"
	"sync"
)

// weight is what a page costs while it is not settled.
type weight struct{ records, bytes int64 }

func (w weight) reaches(limit weight) bool {
	return w.records >= limit.records || w.bytes >= limit.bytes
}

func (w *weight) add(o weight, sign int64) {
	w.records += sign * o.records
	w.bytes += sign * o.bytes
}

// flight bounds what is read and not settled. A page's size is known only once
// it is there, so the bound is kept by not asking: enter waits until there is
// room and a call may be made, and at most the calls then under way overshoot.
type flight struct {
	limit, share weight

	mu    sync.Mutex
	used  weight
	calls int // free call slots
	queue []*seat
}

// seat is one shard's place in the flight.
type seat struct {
	used   weight
	queued bool          // in flight.queue
	wake   chan struct{} // capacity 1
}

func newFlight(limit weight, share float64, calls int) *flight {
	return &flight{
		limit: limit,
		share: weight{max(1, int64(float64(limit.records)*share)), max(1, int64(float64(limit.bytes)*share))},
		calls: calls,
	}
}

func newSeat() *seat { return &seat{wake: make(chan struct{}, 1)} }

// enter waits for room and a call slot, which leave gives back.
func (f *flight) enter(ctx context.Context, s *seat) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.mu.Lock()
		if f.calls > 0 && !f.used.reaches(f.limit) && !s.used.reaches(f.share) {
			f.calls--
			f.mu.Unlock()
			return nil
		}
		// A shard over its own share is woken by its own acks: in the queue it
		// would only be turned away.
		if !s.queued && !s.used.reaches(f.share) {
			s.queued = true
			f.queue = append(f.queue, s)
		}
		f.mu.Unlock()
		select {
		case <-s.wake:
		case <-ctx.Done():
			f.mu.Lock()
			f.unqueueLocked(s)
			f.wakeLocked() // it may have been our turn
			f.mu.Unlock()
			return ctx.Err()
		}
	}
}

// leave ends a call that brought a page of this weight.
func (f *flight) leave(s *seat, w weight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.used.add(w, 1)
	s.used.add(w, 1)
	f.wakeLocked()
}

// settle gives a page's room back.
func (f *flight) settle(s *seat, w weight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used.add(w, -1)
	s.used.add(w, -1)
	if !s.queued {
		signal(s)
	}
	f.wakeLocked()
}

// wakeLocked wakes as many as could enter now. Who cannot after all queues
// again, and who leaves wakes the next, so none is forgotten.
func (f *flight) wakeLocked() {
	if f.used.reaches(f.limit) {
		return
	}
	n := min(f.calls, len(f.queue))
	for _, s := range f.queue[:n] {
		s.queued = false
		signal(s)
	}
	clear(f.queue[:n])
	f.queue = f.queue[n:]
}

func (f *flight) unqueueLocked(s *seat) {
	if !s.queued {
		return
	}
	s.queued = false
	for i, q := range f.queue {
		if q == s {
			f.queue = append(f.queue[:i], f.queue[i+1:]...)
			return
		}
	}
}

func (f *flight) load() weight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

func (f *flight) held(s *seat) weight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s.used
}

func signal(s *seat) {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
