package tracker

import (
	"cmp"
	"sync"

	"github.com/google/btree"
)

// Watermark is the minimum over the positions of many partitions: everything
// at or before it is settled in all of them. It costs O(log n) to move one
// partition and O(1) to read, whatever the number of partitions.
//
// A partition that was added and has no position yet holds the watermark back:
// there is none until every partition has reported, since the missing one may
// turn out to be behind all others. A caller that knows where such a partition
// starts says so with Advance; one that knows it will not report removes it.
//
// The watermark itself goes back only when a partition is added. Its methods
// are safe in many goroutines.
type Watermark[K cmp.Ordered, P any] struct {
	compare func(a, b P) int

	mu      sync.RWMutex
	members map[K]mark[K, P]
	tree    *btree.BTreeG[mark[K, P]] // those that have a position
	low     mark[K, P]                // the least of tree, kept for Low
}

// mark is where one partition is. Ties are told apart by the key, so that
// partitions at one position are all in the tree.
type mark[K cmp.Ordered, P any] struct {
	pos P
	key K
	ok  bool // pos is set
}

// NewWatermark returns a Watermark of no partitions; compare orders positions
// as cmp.Compare does.
func NewWatermark[K cmp.Ordered, P any](compare func(a, b P) int) *Watermark[K, P] {
	w := &Watermark[K, P]{compare: compare, members: make(map[K]mark[K, P])}
	w.tree = btree.NewG(32, func(a, b mark[K, P]) bool {
		if c := w.compare(a.pos, b.pos); c != 0 {
			return c < 0
		}
		return cmp.Less(a.key, b.key)
	})
	return w
}

// Add adds a partition that has no position yet. False: it is there already,
// nothing changed.
func (w *Watermark[K, P]) Add(k K) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.members[k]; ok {
		return false
	}
	w.members[k] = mark[K, P]{key: k}
	return true
}

// Advance moves a partition to pos. False: it was not added, or is there or
// further already; nothing changed. So reports may come late and in any order,
// as those of OnAdvance do.
func (w *Watermark[K, P]) Advance(k K, pos P) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, ok := w.members[k]
	if !ok || old.ok && w.compare(pos, old.pos) <= 0 {
		return false
	}
	now := mark[K, P]{pos: pos, key: k, ok: true}
	w.members[k] = now
	if old.ok {
		w.tree.Delete(old)
	}
	w.tree.ReplaceOrInsert(now)
	w.low, _ = w.tree.Min()
	return true
}

// Remove ends a partition: it no longer holds the watermark back. False: it
// was not there.
func (w *Watermark[K, P]) Remove(k K) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, ok := w.members[k]
	if !ok {
		return false
	}
	delete(w.members, k)
	if old.ok {
		w.tree.Delete(old)
		w.low, _ = w.tree.Min()
	}
	return true
}

// Low is the watermark and the partition that holds it, the first by key if
// several do. False while there is no partition, or one without a position.
func (w *Watermark[K, P]) Low() (pos P, at K, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if len(w.members) == 0 || w.tree.Len() < len(w.members) {
		return pos, at, false
	}
	return w.low.pos, w.low.key, true
}

// Len is the number of partitions, and how many of them have a position.
func (w *Watermark[K, P]) Len() (all, positioned int) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.members), w.tree.Len()
}
