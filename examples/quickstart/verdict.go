package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// verdict is what came of the comparison. It uses none of the library's own
// arithmetic: an oracle that shared it would share its faults.
type verdict struct {
	lost        int
	duplicates  int
	regressions int
	early       int // positions durable before what they claim was delivered
	disorder    int // changes of one item first delivered in the wrong order

	examples []string // the first of each, in words
}

func (v verdict) ok() bool { return v.lost+v.regressions+v.early+v.disorder == 0 }

// judge compares all that was written with all that was delivered.
func judge(h history) verdict {
	var v verdict
	d := newDelivered()
	for _, l := range h.lines {
		d.add(l)
	}
	v.duplicates = len(h.lines) - len(d.rows) - len(d.changes)
	v.judgeChanges(h, d)
	v.judgeItems(h, d)
	v.judgeRows(h, d)
	return v
}

// delivered is where each thing first stands in the output.
type delivered struct {
	rows    map[string]int64    // backfill lines by item id: end offset
	changes map[changeKey]int64 // stream lines
	replica map[string]string   // what a consumer who applies every line ends with: id to version
}

type changeKey struct{ shard, sequence string }

func newDelivered() delivered {
	return delivered{map[string]int64{}, map[changeKey]int64{}, map[string]string{}}
}

func (d delivered) add(l jsonl.Placed) {
	id := attribute(l.Keys, "id")
	d.replica[id] = attribute(l.New, "version")
	if l.Phase == jsonl.PhaseBackfill {
		if _, again := d.rows[id]; !again {
			d.rows[id] = l.End
		}
		return
	}
	key := changeKey{l.Shard, l.SequenceNumber}
	if _, again := d.changes[key]; !again {
		d.changes[key] = l.End
	}
}

// judgeChanges: the stream owes every change since the origin, and the changes
// of one item in the order in which they were made.
func (v *verdict) judgeChanges(h history, d delivered) {
	last := map[string]int64{}
	for _, w := range h.writes {
		if w.change.Created.Before(h.origin) {
			continue
		}
		end, ok := d.changes[changeKey{w.change.ShardID, w.change.SequenceNumber}]
		if !ok {
			v.note(&v.lost, "lost: the change of %s to %q (%s in %s) was never delivered", w.id, w.version, w.change.SequenceNumber, w.change.ShardID)
			continue
		}
		if end < last[w.id] {
			v.note(&v.disorder, "out of order: the change of %s to %q was delivered after its successor", w.id, w.version)
		}
		last[w.id] = max(last[w.id], end)
	}
}

// judgeItems: the backfill owes every item that was there all the while, and
// whoever applies all lines in order must end with the table.
func (v *verdict) judgeItems(h history, d delivered) {
	deleted := map[string]bool{}
	for _, w := range h.writes {
		if w.version == "" {
			deleted[w.id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.seeds)) {
		if _, ok := d.rows[id]; !ok && !deleted[id] {
			v.note(&v.lost, "lost: the backfill never delivered %s", id)
		}
	}
	ids := maps.Clone(d.replica)
	for id := range h.final {
		ids[id] = ""
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if got, want := d.replica[id], h.final[id]; got != want {
			v.note(&v.lost, "lost: after all lines %s says %q, the table says %q", id, got, want)
		}
	}
}

// judgeRows: no row ever stepped back, and none ran ahead of the output.
func (v *verdict) judgeRows(h history, d delivered) {
	claims := newClaims(h, d)
	before := map[string]checkpoint.Checkpoint{}
	for _, o := range h.observed {
		name := o.row.Partition
		if why := regressed(before[name], o.row, claims); why != "" {
			v.note(&v.regressions, "regressed: row %s: %s", name, why)
		}
		if what := claims.missing(o); what != "" {
			v.note(&v.early, "too early: row %s stood at %q (complete %t) before %s was delivered", name, o.row.Position, o.row.Complete, what)
		}
		before[name] = o.row
	}
}

func regressed(a, b checkpoint.Checkpoint, c *claims) string {
	switch {
	case a.Partition == "":
		return ""
	case b.Fence < a.Fence || (b.Fence == a.Fence && b.Revision < a.Revision):
		return fmt.Sprintf("fence and revision went from %d.%d to %d.%d", a.Fence, a.Revision, b.Fence, b.Revision)
	case a.Complete && !b.Complete:
		return "it was complete and is no more"
	case a.Position != "" && b.Position == "":
		return "its position vanished"
	case c.before(b, a):
		return fmt.Sprintf("its position went from %s to %s", a.Position, b.Position)
	}
	return ""
}

// note counts a fault and keeps the first few in words.
func (v *verdict) note(count *int, format string, args ...any) {
	*count++
	if *count <= 5 {
		v.examples = append(v.examples, fmt.Sprintf(format, args...))
	}
}
