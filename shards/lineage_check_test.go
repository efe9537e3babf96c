package shards

import (
	"errors"
	"fmt"
	"slices"
)

var errLineage = errors.New("shards: lineage invariant broken")

// check walks everything; tests call it after every step.
func (l *Lineage) check() error {
	var count [trimmed + 1]int
	for id, n := range l.nodes {
		count[n.state]++
		switch {
		case id != n.id:
			return fmt.Errorf("%w: %s is filed under %s", errLineage, n.id, id)
		case n.descendsFrom(n):
			return fmt.Errorf("%w: %s is its own ancestor", errLineage, id)
		case n.queued != slices.Contains(l.ready, n):
			return fmt.Errorf("%w: %s queued=%v", errLineage, id, n.queued)
		case l.isReady(n) && !n.queued:
			return fmt.Errorf("%w: %s is ready, but forgotten", errLineage, id)
		case !n.listed && n.state != waiting && n.state != trimmed && n.state != complete:
			return fmt.Errorf("%w: %s was never listed, but is %v", errLineage, id, n.state)
		}
		for _, p := range n.parents {
			if l.nodes[p.id] != p || !slices.Contains(p.children, n) {
				return fmt.Errorf("%w: %s and its parent %s do not know each other", errLineage, id, p.id)
			}
		}
		for _, c := range n.children {
			if l.nodes[c.id] != c || !slices.Contains(c.parents, n) {
				return fmt.Errorf("%w: %s and its child %s do not know each other", errLineage, id, c.id)
			}
		}
	}
	if count != l.count {
		return fmt.Errorf("%w: counted %v, kept %v", errLineage, count, l.count)
	}
	return nil
}
