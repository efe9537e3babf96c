package shards

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (s state) String() string {
	return [...]string{"waiting", "reading", "read", "complete", "trimmed"}[s]
}

// Missing returns the shards known only from elsewhere: parents that hold back
// a listed child, but were left out by a full listing begun after that child
// was seen, and incomplete checkpoints whose shard no full listing names. Being left out proves
// nothing, since listings are eventually consistent: ask the service for each
// of them, and Observe it or call Trimmed.
func (l *Lineage) Missing() []string {
	var ids []string
	for id, n := range l.nodes {
		if n.listed || n.state != waiting {
			continue
		}
		held := func(c *node) bool { return c.state == waiting && c.first < l.full }
		if n.row && l.full > 0 || slices.ContainsFunc(n.children, held) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Leaves returns the shards that were read to their end and have no known
// child: a rotation whose children are not listed yet. Discovery goes on
// while there are any.
func (l *Lineage) Leaves() []string {
	var ids []string
	for id, n := range l.nodes {
		if (n.state == read || n.state == complete) && n.listed && len(n.children) == 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Forgettable returns the done shards that were left out by the last two full
// listings and whose children all have durable state of their own: only
// their checkpoints may be deleted (S5). A shard without a known child is not
// among them, since its checkpoint may be all that keeps its child in order.
func (l *Lineage) Forgettable() []string {
	var ids []string
	for id, n := range l.nodes {
		if l.forgettable(n) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (l *Lineage) forgettable(n *node) bool {
	undurable := func(c *node) bool { return !c.durable }
	return l.prior > 0 && n.last < l.prior && (n.listed || n.row) && n.done() &&
		len(n.children) > 0 && !slices.ContainsFunc(n.children, undurable)
}

// Closed reports whether a listing said that the shard gets no more records.
func (l *Lineage) Closed(id string) bool {
	n := l.nodes[id]
	return n != nil && n.closed
}

// Ending is the last sequence number of a closed shard, if a listing told it.
func (l *Lineage) Ending(id string) SequenceNumber {
	if n := l.nodes[id]; n != nil {
		return n.ending
	}
	return SequenceNumber{}
}

// Children returns the known children of a shard.
func (l *Lineage) Children(id string) []string {
	n := l.nodes[id]
	if n == nil {
		return nil
	}
	ids := make([]string, 0, len(n.children))
	for _, c := range n.children {
		ids = append(ids, c.id)
	}
	return ids
}

// Parents returns the known parents of a shard.
func (l *Lineage) Parents(id string) []string {
	n := l.nodes[id]
	if n == nil {
		return nil
	}
	ids := make([]string, 0, len(n.parents))
	for _, p := range n.parents {
		ids = append(ids, p.id)
	}
	return ids
}

// AnyChildDurable reports whether a child of the shard has durable state.
func (l *Lineage) AnyChildDurable(id string) bool {
	n := l.nodes[id]
	return n != nil && slices.ContainsFunc(n.children, func(c *node) bool { return c.durable })
}

// Undone returns the listed shards that are not done and do not wait for a
// parent that is listed and not done either: all that is still to be read is in
// them or comes after them.
func (l *Lineage) Undone() []string {
	var ids []string
	for id, n := range l.nodes {
		behind := func(p *node) bool { return p.listed && !p.done() }
		if n.listed && !n.done() && (n.state != waiting || !slices.ContainsFunc(n.parents, behind)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Held counts the shards that were named as parents only and may hold back a
// child.
func (l *Lineage) Held() int {
	held := 0
	for _, n := range l.nodes {
		if !n.listed && n.state == waiting {
			held++
		}
	}
	return held
}

// Counts says how many shards stand where.
type Counts struct {
	Waiting, Reading, Read, Complete, Trimmed int
	// Contradictions counts parents refused because they would be their own
	// ancestors.
	Contradictions int
}

// Counts reports how many shards stand where, parents that were only named
// included.
func (l *Lineage) Counts() Counts {
	return Counts{l.count[waiting], l.count[reading], l.count[read], l.count[complete], l.count[trimmed], l.odd}
}

// String is one line, for tests and failure messages.
func (l *Lineage) String() string {
	var b strings.Builder
	for i, id := range slices.Sorted(maps.Keys(l.nodes)) {
		n := l.nodes[id]
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%v", id, n.state)
		if !n.listed {
			b.WriteByte('?')
		}
	}
	return b.String()
}
