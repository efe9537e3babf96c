package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// ErrMember is returned by Group.Add for a key that is a member already.
var ErrMember = errors.New("tracker: already a member: Revoke it before adding it again")

// GroupConfig sets up a Group. The zero value is ready: no limits, no hook.
type GroupConfig[K cmp.Ordered] struct {
	// Share is the weight that every member may have outstanding whatever the
	// others do. Default 0: no limits at all, and then Limit must be 0 too.
	Share int64

	// Limit is the weight that all members together may have outstanding
	// beyond their shares. Default 0: nothing is lent beyond a share.
	Limit int64

	// OnAdvance, if set, is every member's Config.OnAdvance, told which it is.
	OnAdvance func(K)
}

// Group is many frontiers, one a partition, under one limit. A partition that
// is stuck holds at most its share and what was lent to it: all others still
// have their own shares, so that it starves none of them.
//
// Members are ordinary Frontiers. Outstanding weight is at most Limit plus one
// Share a member; beyond it goes only an item that is alone in flight in its
// member, as with a single Frontier (T6). What is lent goes to members in the
// order in which they began to wait for it.
type Group[K cmp.Ordered, P any] struct {
	share     int64
	pool      *pool[P]
	onAdvance func(K)

	mu      sync.Mutex
	members map[K]*Frontier[P]
}

// NewGroup returns an empty Group. Negative limits panic, and so does a Limit
// without a Share: who has no share could be starved.
func NewGroup[K cmp.Ordered, P any](cfg GroupConfig[K]) *Group[K, P] {
	if cfg.Share < 0 || cfg.Limit < 0 {
		panic("tracker: negative limit; 0 means no limit")
	}
	if cfg.Limit > 0 && cfg.Share == 0 {
		panic("tracker: a Group with a Limit needs a Share, or one member could starve the others")
	}
	g := &Group[K, P]{share: cfg.Share, onAdvance: cfg.OnAdvance, members: make(map[K]*Frontier[P])}
	if cfg.Share > 0 {
		g.pool = &pool[P]{limit: cfg.Limit}
	}
	return g
}

// Add makes k a member and returns its Frontier. ErrMember: it is one already.
// A key that was revoked can be added again, and gets a new Frontier: tickets
// of the old one never touch it.
func (g *Group[K, P]) Add(k K) (*Frontier[P], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[k]; ok {
		return nil, fmt.Errorf("%w: %v", ErrMember, k)
	}
	f := &Frontier[P]{limit: g.share}
	if g.pool != nil {
		f.pool, f.state = g.pool, member
		f.standing = &place[*Frontier[P]]{of: f}
	}
	if g.onAdvance != nil {
		f.onAdvance = func() { g.onAdvance(k) }
	}
	g.members[k] = f
	return f, nil
}

// Get returns the Frontier of a member; false if k is none.
func (g *Group[K, P]) Get(k K) (*Frontier[P], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.members[k]
	return f, ok
}

// Revoke abandons k's Frontier (T7) and ends its membership: late acks change
// nothing, what it held is there for others. False: not a member.
func (g *Group[K, P]) Revoke(k K) bool {
	g.mu.Lock()
	f, ok := g.members[k]
	delete(g.members, k)
	g.mu.Unlock()
	if ok {
		f.Abandon()
	}
	return ok
}

// GroupStats is what a Group holds, and whose it is.
type GroupStats[K cmp.Ordered] struct {
	Members           int
	Outstanding       int
	OutstandingWeight int64
	// Lent is the weight outstanding beyond the shares, bounded by Limit.
	Lent int64
	// Waiting are the members with calls that wait for room, by key.
	Waiting []K
	// ByMember has the Stats of each. Waiting with an Oldest that stays the
	// same is a stuck partition.
	ByMember map[K]Stats
}

// Stats reports all members; each at one instant, not all at the same.
func (g *Group[K, P]) Stats() GroupStats[K] {
	s := GroupStats[K]{ByMember: make(map[K]Stats)}
	for k, f := range g.All() {
		m := f.Stats()
		s.ByMember[k] = m
		s.Members++
		s.Outstanding += m.Outstanding
		s.OutstandingWeight += m.OutstandingWeight
		if m.Waiting > 0 {
			s.Waiting = append(s.Waiting, k)
		}
	}
	if g.pool != nil {
		g.pool.mu.Lock()
		s.Lent = g.pool.lent
		g.pool.mu.Unlock()
	}
	return s
}

// All yields the members there are when it is called, in the order of keys.
func (g *Group[K, P]) All() iter.Seq2[K, *Frontier[P]] {
	return func(yield func(K, *Frontier[P]) bool) {
		g.mu.Lock()
		members := maps.Clone(g.members)
		g.mu.Unlock()
		for _, k := range slices.Sorted(maps.Keys(members)) {
			if !yield(k, members[k]) {
				return
			}
		}
	}
}
