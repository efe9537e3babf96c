package shards

import (
	"slices"
)

// naive is the reference for Lineage: facts in maps, every answer computed anew
// from all of them.
type naive struct {
	order   Order
	known   map[string]bool
	listed  map[string]bool
	row     map[string]bool
	durable map[string]bool
	parents map[string][]string
	state   map[string]string // "" waiting, reading, read, done
	first   map[string]int
	last    map[string]int
	pass    int
	full    []int // passes that reached the end
}

func newNaive(order Order) *naive {
	return &naive{
		order: order, known: map[string]bool{}, listed: map[string]bool{}, row: map[string]bool{}, durable: map[string]bool{},
		parents: map[string][]string{}, state: map[string]string{}, first: map[string]int{}, last: map[string]int{},
	}
}

func (m *naive) ancestor(a, of string) bool {
	for _, p := range m.parents[of] {
		if p == a || m.ancestor(a, p) {
			return true
		}
	}
	return false
}

func (m *naive) observe(s Shard) {
	m.known[s.ID] = true
	if !m.listed[s.ID] {
		m.listed[s.ID], m.first[s.ID] = true, m.pass
	}
	m.last[s.ID] = m.pass
	for _, p := range s.Parents {
		cyclic := p == s.ID || m.ancestor(s.ID, p)
		tooLate := m.state[s.ID] != "" && !m.known[p]
		if cyclic || tooLate || slices.Contains(m.parents[s.ID], p) {
			continue
		}
		m.known[p] = true
		m.parents[s.ID] = append(m.parents[s.ID], p)
	}
}

func (m *naive) children(id string) (cs []string) {
	for c, ps := range m.parents {
		if slices.Contains(ps, id) {
			cs = append(cs, c)
		}
	}
	return cs
}

func (m *naive) ready() (ids []string) {
	for id := range m.listed {
		ok := m.state[id] == ""
		for _, p := range m.parents[id] {
			ok = ok && (m.state[p] == "done" || m.order == Relaxed && m.state[p] == "read")
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *naive) lastFull(back int) int {
	if len(m.full) <= back {
		return 0
	}
	return m.full[len(m.full)-1-back]
}

func (m *naive) missing() (ids []string) {
	for id := range m.known {
		if m.listed[id] || m.state[id] != "" {
			continue
		}
		ask := m.row[id] && m.lastFull(0) > 0
		for _, c := range m.children(id) {
			ask = ask || m.state[c] == "" && m.listed[c] && m.first[c] < m.lastFull(0)
		}
		if ask {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *naive) forgettable() (ids []string) {
	for id := range m.known {
		cs := m.children(id)
		ok := m.state[id] == "done" && (m.listed[id] || m.row[id]) && len(cs) > 0 &&
			m.lastFull(1) > 0 && m.last[id] < m.lastFull(1)
		for _, c := range cs {
			ok = ok && m.durable[c]
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *naive) forget(id string) {
	ps := m.parents[id]
	for _, c := range m.children(id) {
		m.parents[c] = slices.DeleteFunc(m.parents[c], func(p string) bool { return p == id })
	}
	for _, mm := range []map[string]bool{m.known, m.listed, m.row, m.durable} {
		delete(mm, id)
	}
	delete(m.parents, id)
	delete(m.state, id)
	delete(m.first, id)
	delete(m.last, id)
	for _, p := range ps {
		if !m.listed[p] && len(m.children(p)) == 0 {
			delete(m.known, p)
			delete(m.state, p)
			delete(m.row, p)
			delete(m.durable, p)
		}
	}
}
