package tracker

// Item is what TrackAll tracks.
type Item[P any] struct {
	Position P
	Weight   int64
	// Hold makes it an item of TrackHold; Position is then not used.
	Hold bool
}

// pushAllLocked appends items to the ring and their tickets to into.
func (f *Frontier[P]) pushAllLocked(items []Item[P], into []Ticket[P]) []Ticket[P] {
	for i := range items {
		it := &items[i]
		flag := uint64(rests)
		pos := it.Position
		if it.Hold {
			var none P
			flag, pos = 0, none
		}
		into = append(into, f.pushLocked(pos, it.Weight, flag))
	}
	return into
}
