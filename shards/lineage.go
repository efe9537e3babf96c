package shards

import "slices"

// Shard is one entry of a page of the stream's description.
type Shard struct {
	ID      string
	Parents []string // none: a root. DynamoDB names one at most
	Closed  bool     // it will get no more records
	Last    SequenceNumber
}

// Order says when a child may be read.
type Order uint8

// The two orders.
const (
	// Strict: when the completion of every parent is durable. One key's
	// changes are delivered in order across a rotation, after a crash too.
	Strict Order = iota
	// Relaxed: when the last page of every parent was read. Faster, without
	// order between a parent's unsettled records and its children's.
	Relaxed
)

type state uint8

const (
	waiting  state = iota // named or listed, not handed out
	reading               // handed out by Take
	read                  // its last page was read
	complete              // its completion is durable, or it is excluded
	trimmed               // proven to be gone
)

// Lineage knows a stream's shards and hands each out once, parents first (S3).
// It is fed pages in any order, repeated, missing or contradictory. The zero
// value is ready and Strict. It is not safe for concurrent use.
//
// Invariant: a shard is handed out only when it was listed and each of its
// known parents is done. Invariant: the parent relation has no cycle.
// Both are checked by check.
type Lineage struct {
	order Order
	nodes map[string]*node
	ready []*node // waiting to be taken
	pass  uint64  // number of the listing under way or last ended
	full  uint64  // number of the last full listing
	prior uint64  // number of the full listing before that
	count [trimmed + 1]int
	odd   int // contradictions
	page  []*node
}

type node struct {
	id       string
	parents  []*node
	children []*node
	state    state
	listed   bool   // false: only named as a parent so far
	closed   bool   // once closed, always closed
	queued   bool   // in ready
	durable  bool   // has a durable position or completion
	row      bool   // has a checkpoint of an earlier run
	first    uint64 // pass it was first seen in
	last     uint64 // pass it was last seen in
	ending   SequenceNumber
}

// NewLineage returns an empty Lineage.
func NewLineage(order Order) *Lineage { return &Lineage{order: order} }

// Begin starts a listing of the whole stream. A listing that failed half-way
// is simply begun again: what its pages told stays known.
func (l *Lineage) Begin() { l.pass++ }

// Observe takes in one page, or part of one, and reports how many shards in it
// were new.
func (l *Lineage) Observe(page ...Shard) int {
	added := 0
	for _, s := range page {
		n := l.node(s.ID)
		l.page = append(l.page, n)
		if !n.listed {
			n.listed, n.first = true, l.pass
			added++
		}
		n.last = l.pass
		n.closed = n.closed || s.Closed
		if !s.Last.IsZero() {
			n.ending = s.Last
		}
		for _, p := range s.Parents {
			l.link(n, p)
		}
	}
	// Only now: a parent may stand behind its child on the same page.
	for _, n := range l.page {
		l.release(n)
	}
	clear(l.page)
	l.page = l.page[:0]
	return added
}

// End says that the listing begun last reached the stream's last page.
func (l *Lineage) End() {
	l.prior, l.full = l.full, l.pass
}

// Take hands out the shards that became ready since the last call, in the
// order in which they did.
func (l *Lineage) Take() []string {
	var ids []string
	for _, n := range l.ready {
		n.queued = false
		// A parent may have become known after its child was queued.
		if n.state == waiting && l.isReady(n) {
			l.set(n, reading)
			ids = append(ids, n.id)
		}
	}
	l.ready = l.ready[:0]
	return ids
}

// Read says that the shard's last page was read. False: stale, nothing changed.
func (l *Lineage) Read(id string) bool { return l.advance(id, read) }

// Complete says that the shard's completion is durable. False: stale.
func (l *Lineage) Complete(id string) bool { return l.advance(id, complete) }

// Trimmed says that the shard is proven to be gone: the service, asked for
// that very shard, does not know it. False: stale.
func (l *Lineage) Trimmed(id string) bool { return l.advance(id, trimmed) }

// Restore says, before any listing, that an earlier run left a checkpoint of
// the shard: complete, or with or without a position. A complete one is never
// handed out; an incomplete one that no listing names is Missing.
func (l *Lineage) Restore(id string, isComplete, hasPosition bool) {
	n := l.node(id)
	n.row = true
	n.durable = n.durable || hasPosition || isComplete
	if isComplete {
		l.advance(id, complete)
	}
}

// Exclude says that nothing in the shard is owed: the pipeline starts at
// LATEST, and the shard was closed before. False: it was handed out already.
func (l *Lineage) Exclude(id string) bool {
	n := l.nodes[id]
	if n == nil || n.state != waiting {
		return false
	}
	l.set(n, complete)
	for _, c := range n.children {
		l.release(c)
	}
	return true
}

// Durable says that the shard has durable state of its own: a position or its
// completion.
func (l *Lineage) Durable(id string) {
	if n := l.nodes[id]; n != nil {
		n.durable = true
	}
}

// Forget drops a shard that Forgettable returned. False: it is not one.
func (l *Lineage) Forget(id string) bool {
	n := l.nodes[id]
	if n == nil || !l.forgettable(n) {
		return false
	}
	for _, c := range n.children {
		c.parents = without(c.parents, n)
	}
	for _, p := range n.parents {
		p.children = without(p.children, n)
		if !p.listed && len(p.children) == 0 {
			l.drop(p)
		}
	}
	l.drop(n)
	return true
}

func (l *Lineage) node(id string) *node {
	if n := l.nodes[id]; n != nil {
		return n
	}
	if l.nodes == nil {
		l.nodes = make(map[string]*node)
	}
	n := &node{id: id, first: l.pass}
	l.nodes[id] = n
	l.count[waiting]++
	return n
}

func (l *Lineage) drop(n *node) {
	delete(l.nodes, n.id)
	l.count[n.state]--
}

// link makes parent a parent of n. Parents only ever add up: a page that
// leaves one out releases nothing.
func (l *Lineage) link(n *node, parent string) {
	if parent == "" || slices.ContainsFunc(n.parents, func(p *node) bool { return p.id == parent }) {
		return
	}
	p := l.nodes[parent]
	if n.state != waiting && p == nil {
		return // released already: a parent that is gone and forgotten
	}
	if parent == n.id || p != nil && len(n.children) > 0 && p.descendsFrom(n) {
		l.odd++
		return
	}
	if p == nil {
		p = l.node(parent)
	}
	n.parents = append(n.parents, p)
	p.children = append(p.children, n)
}

// advance moves a shard on; backwards it never goes.
func (l *Lineage) advance(id string, to state) bool {
	n := l.nodes[id]
	if n == nil || n.done() || n.state >= to {
		return false
	}
	l.set(n, to)
	n.durable = n.durable || to == complete
	for _, c := range n.children {
		l.release(c)
	}
	return true
}

func (l *Lineage) set(n *node, to state) {
	l.count[n.state]--
	l.count[to]++
	n.state = to
}

func (l *Lineage) release(n *node) {
	if !n.queued && l.isReady(n) {
		n.queued = true
		l.ready = append(l.ready, n)
	}
}

func (l *Lineage) isReady(n *node) bool {
	if n.state != waiting || !n.listed {
		return false
	}
	for _, p := range n.parents {
		if !p.done() && (l.order == Strict || p.state != read) {
			return false
		}
	}
	return true
}

func (n *node) done() bool { return n.state == complete || n.state == trimmed }

func (n *node) descendsFrom(a *node) bool {
	for _, p := range n.parents {
		if p == a || p.descendsFrom(a) {
			return true
		}
	}
	return false
}

func without(ns []*node, n *node) []*node {
	return slices.DeleteFunc(ns, func(x *node) bool { return x == n })
}
