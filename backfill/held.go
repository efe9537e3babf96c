package backfill

import (
	"context"
	"sync"
)

// held keeps the stream's acks back until the marker is durable, so that an
// attempt that crashes before it reads the stream from the anchor again.
type held struct {
	mu      sync.Mutex
	closed  bool // acks are kept
	waiting []AckFunc
}

// shut begins to hold back.
func (h *held) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// keep takes ack if acks are held back.
func (h *held) keep(ack AckFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.waiting = append(h.waiting, ack)
	}
	return h.closed
}

func (h *held) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting)
}

// release passes on what was held, in the order of the acks. What fails stays,
// and is passed on by the next release; acks are not held back any more.
func (h *held) release(ctx context.Context) error {
	for {
		h.mu.Lock()
		h.closed = false
		if len(h.waiting) == 0 {
			h.waiting = nil
			h.mu.Unlock()
			return nil
		}
		ack := h.waiting[0]
		h.mu.Unlock()
		// Only Read releases, so the first one is still the first afterwards.
		if err := ack(ctx, nil); err != nil {
			return err
		}
		h.mu.Lock()
		h.waiting = h.waiting[1:]
		h.mu.Unlock()
	}
}
