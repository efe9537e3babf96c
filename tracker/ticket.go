package tracker

// Ticket is the receipt for one tracked item: a small value, free to copy,
// valid in any goroutine. It carries its Frontier, so an ack that comes after a
// reconnect lands on the attempt it belongs to. The zero Ticket is stale.
type Ticket[P any] struct {
	f *Frontier[P]
	// seq is never reused within a Frontier. slot is, and is only a hint where
	// to look: what it holds counts only if it still holds seq.
	seq uint64
	// weight rides here rather than in the slot: only settling needs it, and a
	// slot is paid for as long as the item is out.
	weight int64
	slot   uint32
}

// Ack settles the item as delivered. False: stale, nothing changed (T3).
func (t Ticket[P]) Ack() bool { return t.f != nil && t.f.settle(t, acked) }

// Discard settles the item as deliberately dropped: filtered out, or handed to
// a dead-letter queue. False: stale, nothing changed (T3).
func (t Ticket[P]) Discard() bool { return t.f != nil && t.f.settle(t, discarded) }

// Nack reports a failed delivery. The ticket stays outstanding and holds the
// frontier back until it is acked or discarded after all (T4); what to do about
// err is the caller's decision, so it is not kept. False: stale (T3).
func (t Ticket[P]) Nack(err error) bool {
	_ = err
	f := t.f
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.findLocked(t)
	if !ok {
		f.stale++
		return false
	}
	f.nacked++
	f.slots[i].seq |= failed
	return true
}
