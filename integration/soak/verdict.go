//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sort"
)

// verdict is what came of the comparison.
type verdict struct {
	lost        int
	regressions int // of rows
	ahead       int // rows that claimed what was not yet delivered
	disorder    int // changes of one item first delivered in the wrong order
	unknown     int // delivered, and never written

	examples []string // the first of each, in words
}

func (v verdict) ok() bool { return v.lost+v.regressions+v.ahead+v.disorder+v.unknown == 0 }

// note counts a fault and keeps the first few in words.
func (v *verdict) note(count *int, format string, args ...any) {
	if *count++; *count <= 5 {
		v.examples = append(v.examples, fmt.Sprintf(format, args...))
	}
}

// history is everything that happened, as seen from outside the program.
type history struct {
	items    int // seeds
	written  []write
	final    map[string]string
	output   *output
	observed []observation
}

func judge(h history) verdict {
	var v verdict
	removed := v.judgeChanges(h)
	v.judgeItems(h, removed)
	v.judgeRows(h, removed)
	return v
}

// judgeChanges: the stream owes every change, and those of one item in order.
// It returns the items that were removed at some time.
func (v *verdict) judgeChanges(h history) (removed map[string]bool) {
	removed, last, known := map[string]bool{}, map[string]int64{}, map[string]bool{}
	for _, w := range h.written {
		known[w.name()] = true
		removed[w.id] = removed[w.id] || w.version == ""
		at, ok := h.output.changes[w.name()]
		if !ok {
			v.note(&v.lost, "lost: the change %s was never delivered", w.name())
			continue
		}
		if at.end < last[w.id] {
			v.note(&v.disorder, "out of order: %s was first delivered after its successor", w.name())
		}
		last[w.id] = max(last[w.id], at.end)
	}
	for i := range h.items { // from before the pipeline, but within its first second
		known[write{id: seedID(i), version: seedVersion}.name()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(h.output.changes)) {
		if !known[name] {
			v.note(&v.unknown, "unknown: %s was delivered and never written", name)
		}
	}
	for _, what := range h.output.renumbered {
		v.note(&v.unknown, "unknown: %s", what)
	}
	return removed
}

// judgeItems: the backfill owes every item that was there all the while, and
// whoever applies all lines in order ends with the table.
func (v *verdict) judgeItems(h history, removed map[string]bool) {
	for i := range h.items {
		if id := seedID(i); !removed[id] {
			if _, ok := h.output.rows[id]; !ok {
				v.note(&v.lost, "lost: the backfill never delivered %s", id)
			}
		}
	}
	ids := maps.Clone(h.output.replica)
	maps.Copy(ids, h.final)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if got, want := h.output.replica[id], h.final[id]; got != want {
			v.note(&v.lost, "lost: after all lines %s says %q, the table says %q", id, got, want)
		}
	}
}

// judgeRows: no row ever stepped back, and none ran ahead of the output.
func (v *verdict) judgeRows(h history, removed map[string]bool) {
	owed := newClaims(h, removed)
	before := map[string]row{}
	for _, o := range h.observed {
		if why := regressed(before[o.partition], o.row); why != "" {
			v.note(&v.regressions, "regressed: row %s: %s", o.partition, why)
		}
		if what := owed.missing(o); what != "" {
			v.note(&v.ahead, "ahead: row %s stood at %q (complete %t) before %s was delivered", o.partition, o.position, o.complete, what)
		}
		before[o.partition] = o.row
	}
}

func regressed(a, b row) string {
	switch {
	case a.partition == "":
	case b.fence < a.fence || b.fence == a.fence && b.revision < a.revision:
		return fmt.Sprintf("fence and revision went from %d.%d to %d.%d", a.fence, a.revision, b.fence, b.revision)
	case a.complete && !b.complete:
		return "it was complete and is no more"
	case a.position != "" && b.position == "":
		return "its position vanished"
	case b.stream() && number(b.position).Cmp(number(a.position)) < 0,
		b.segment() != "" && keyOf(b.position) < keyOf(a.position):
		return fmt.Sprintf("its position went from %s to %s", a.position, b.position)
	}
	return ""
}

// number of a sequence number; none is before all.
func number(digits string) *big.Int {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// keyOf is the id in a segment's position, empty if there is none. The server
// scans a segment in the order of the ids.
func keyOf(position string) string {
	var k attributes
	_ = json.Unmarshal([]byte(position), &k)
	return k["id"].S
}

// claims answers whether what a row says is delivered was.
type claims struct {
	stream   []delivered            // by sequence number
	segments map[string][]delivered // by id
}

// delivered is a thing, and the offset at which the output held it and all before it.
type delivered struct {
	name     string
	sequence *big.Int
	through  int64
}

func newClaims(h history, removed map[string]bool) claims {
	c := claims{segments: map[string][]delivered{}}
	for name, at := range h.output.changes {
		c.stream = append(c.stream, delivered{name, at.sequence, at.end})
	}
	slices.SortFunc(c.stream, func(a, b delivered) int { return a.sequence.Cmp(b.sequence) })
	through(c.stream)
	for i := range h.items {
		id := seedID(i)
		if at, ok := h.output.rows[id]; ok && !removed[id] {
			c.segments[at.segment] = append(c.segments[at.segment], delivered{name: id, through: at.end})
		}
	}
	for _, s := range c.segments {
		through(s)
	}
	return c
}

func through(list []delivered) {
	for i := 1; i < len(list); i++ {
		list[i].through = max(list[i].through, list[i-1].through)
	}
}

// missing names something that the row claims and that the output did not hold
// by then. What was never delivered at all is counted as lost already.
func (c claims) missing(o observation) string {
	switch {
	case o.done() && o.complete:
		for _, segment := range c.segments {
			if what := missing(segment, len(segment), o.end); what != "" {
				return what
			}
		}
	case o.stream() && o.position != "":
		at := number(o.position)
		return missing(c.stream, sort.Search(len(c.stream), func(i int) bool { return c.stream[i].sequence.Cmp(at) > 0 }), o.end)
	case o.segment() != "":
		list := c.segments[o.segment()]
		n := len(list)
		if !o.complete {
			at := keyOf(o.position)
			n = sort.Search(n, func(i int) bool { return list[i].name > at })
		}
		return missing(list, n, o.end)
	}
	return ""
}

// missing looks at the first n: the output must hold them by end.
func missing(list []delivered, n int, end int64) string {
	if i := sort.Search(n, func(i int) bool { return list[i].through > end }); i < n {
		return list[i].name
	}
	return ""
}
