package main

import (
	"container/heap"
	"sync"
)

// heapTracker is what one writes by hand: ids in a map for what is out, a heap
// of what is done, and the frontier moves while the heap's top is next.
type heapTracker struct {
	mu   sync.Mutex
	out  map[uint64]uint64 // id: position
	done ids
	pos  map[uint64]uint64 // positions of what is in done
	next uint64            // the id that the frontier waits for
	ids  uint64
	at   uint64
}

func newHeapTracker() *heapTracker {
	return &heapTracker{out: make(map[uint64]uint64), pos: make(map[uint64]uint64)}
}

func (h *heapTracker) track(pos uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.ids
	h.ids++
	h.out[id] = pos
	return id
}

func (h *heapTracker) ack(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pos, ok := h.out[id]
	if !ok {
		return
	}
	delete(h.out, id)
	h.pos[id] = pos
	heap.Push(&h.done, id)
	for len(h.done) > 0 && h.done[0] == h.next {
		heap.Pop(&h.done)
		h.at = h.pos[h.next]
		delete(h.pos, h.next)
		h.next++
	}
}

type ids []uint64

func (s ids) Len() int           { return len(s) }
func (s ids) Less(i, j int) bool { return s[i] < s[j] }
func (s ids) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *ids) Push(x any)        { *s = append(*s, x.(uint64)) }
func (s *ids) Pop() any {
	old := *s
	x := old[len(old)-1]
	*s = old[:len(old)-1]
	return x
}
