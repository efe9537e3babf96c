package tracker

// spot is a position that tells which item it belongs to: n counts the items of
// one attempt from 0, pos is what a source might call it, the zero value and
// duplicates included.
type spot struct{ n, pos int }

// model is the tracker as one would write it without a thought for cost: a
// slice of everything that was ever tracked, gone through from the start.
type model struct {
	limit     int64
	items     []modelItem
	sealed    bool
	abandoned bool
	frozen    int // length of the settled prefix when it was abandoned

	acked, discarded, nacked, stale uint64
}

type modelItem struct {
	at     spot
	rests  bool
	weight int64
	out    bool
	nacked bool
}

// prefix is how many items from the first on are settled.
func (m *model) prefix() int {
	if m.abandoned {
		return m.frozen
	}
	for i, it := range m.items {
		if it.out {
			return i
		}
	}
	return len(m.items)
}

func (m *model) position() (spot, bool) {
	for i := m.prefix() - 1; i >= 0; i-- {
		if m.items[i].rests {
			return m.items[i].at, true
		}
	}
	return spot{}, false
}

func (m *model) outstanding() (n int, weight int64) {
	if m.abandoned {
		return 0, 0
	}
	for _, it := range m.items {
		if it.out {
			n++
			weight += it.weight
		}
	}
	return n, weight
}

func (m *model) complete() bool {
	n, _ := m.outstanding()
	return m.sealed && !m.abandoned && n == 0
}

func (m *model) admits(weight int64) bool {
	n, out := m.outstanding()
	return m.limit == 0 || n == 0 || out+weight <= m.limit
}

// closed is the error a Track gets now.
func (m *model) closed() error {
	switch {
	case m.abandoned:
		return ErrAbandoned
	case m.sealed:
		return ErrSealed
	}
	return nil
}

func (m *model) track(at spot, weight int64, rests bool) {
	m.items = append(m.items, modelItem{at: at, rests: rests, weight: weight, out: true})
}

// live says whether a settle of item i would apply, and counts it if not.
func (m *model) live(i int) bool {
	if m.abandoned || !m.items[i].out {
		m.stale++
		return false
	}
	return true
}

func (m *model) settle(i int, how settling) bool {
	if !m.live(i) {
		return false
	}
	m.items[i].out = false
	if how == acked {
		m.acked++
	} else {
		m.discarded++
	}
	return true
}

func (m *model) nack(i int) bool {
	if !m.live(i) {
		return false
	}
	m.items[i].nacked = true
	m.nacked++
	return true
}

func (m *model) seal() bool {
	if m.sealed || m.abandoned {
		return false
	}
	m.sealed = true
	return true
}

func (m *model) abandon() bool {
	if m.abandoned || m.complete() {
		return false
	}
	m.frozen, m.abandoned = m.prefix(), true
	return true
}

func (m *model) stats() Stats {
	s := Stats{
		Tracked: uint64(len(m.items)), Acked: m.acked, Discarded: m.discarded, Nacked: m.nacked, Stale: m.stale,
		Sealed: m.sealed, Abandoned: m.abandoned,
	}
	s.Outstanding, s.OutstandingWeight = m.outstanding()
	if p := m.prefix(); !m.abandoned && p < len(m.items) {
		s.Oldest, s.OldestNacked = uint64(p)+1, m.items[p].nacked
	}
	return s
}

func (m *model) settledWeight() (w int64) {
	for _, it := range m.items[:m.prefix()] {
		w += it.weight
	}
	return w
}
