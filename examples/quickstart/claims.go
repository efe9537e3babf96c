package main

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"sort"

	"github.com/ackgate/ackgate/checkpoint"
)

// claims answers what a row says was delivered, and whether it was.
type claims struct {
	shards   map[string]owed // what each shard's row claims, by sequence number
	segments map[string]owed // what each segment's row claims, by place in the scan
	places   map[string]int  // by id of the items from before the pipeline
}

// owed is what one partition owes, in its order. through[i] is the offset at
// which the output held all of positions[:i+1].
type owed struct {
	positions []*big.Int
	through   []int64
	names     []string
}

// never is the offset of what was not delivered at all.
const never = math.MaxInt64

func newClaims(h history, d delivered) *claims {
	c := &claims{map[string]owed{}, map[string]owed{}, map[string]int{}}
	deleted := map[string]bool{}
	writes := slices.Clone(h.writes)
	slices.SortStableFunc(writes, func(a, b write) int {
		return number(a.change.SequenceNumber).Cmp(number(b.change.SequenceNumber))
	})
	for _, w := range writes {
		deleted[w.id] = deleted[w.id] || w.version == ""
		if w.change.Created.Before(h.origin) {
			continue
		}
		end, ok := d.changes[changeKey{w.change.ShardID, w.change.SequenceNumber}]
		add(c.shards, w.change.ShardID, number(w.change.SequenceNumber), end, ok, "the change of "+w.id+" at "+w.change.SequenceNumber)
	}
	ids := make([]string, 0, len(h.seeds))
	for id, p := range h.seeds {
		c.places[id] = p.index
		if !deleted[id] { // a deleted one may rightly be missing
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return c.places[a] - c.places[b] })
	for _, id := range ids {
		end, ok := d.rows[id]
		add(c.segments, h.seeds[id].segment, big.NewInt(int64(c.places[id])), end, ok, "item "+id)
	}
	return c
}

func add(partitions map[string]owed, partition string, position *big.Int, end int64, ok bool, name string) {
	if !ok {
		end = never
	}
	o := partitions[partition]
	if n := len(o.through); n > 0 {
		end = max(end, o.through[n-1])
	}
	partitions[partition] = owed{append(o.positions, position), append(o.through, end), append(o.names, name)}
}

// missing names something that the row claims and that did not yet stand in
// the output, or is empty.
func (c *claims) missing(o observation) string {
	row := o.row
	switch {
	case doneRow(row.Partition) && row.Complete:
		for _, segment := range c.segments {
			if what := segment.missing(len(segment.names), o.end); what != "" {
				return what
			}
		}
	case shardOf(row.Partition) != "":
		return c.shards[shardOf(row.Partition)].claimed(row, c.position(row), o.end)
	case segmentOf(row.Partition) != "":
		return c.segments[segmentOf(row.Partition)].claimed(row, c.position(row), o.end)
	}
	return ""
}

func (o owed) claimed(row checkpoint.Checkpoint, position *big.Int, end int64) string {
	switch {
	case row.Complete:
		return o.missing(len(o.names), end)
	case position == nil:
		return ""
	}
	return o.missing(sort.Search(len(o.positions), func(i int) bool { return o.positions[i].Cmp(position) > 0 }), end)
}

// missing looks at the first n: the output must hold them by end.
func (o owed) missing(n int, end int64) string {
	if i := sort.Search(n, func(i int) bool { return o.through[i] > end }); i < n {
		return o.names[i]
	}
	return ""
}

// before reports whether a's position lies before b's, as far as both are known.
func (c *claims) before(a, b checkpoint.Checkpoint) bool {
	x, y := c.position(a), c.position(b)
	return x != nil && y != nil && x.Cmp(y) < 0
}

var itemID = regexp.MustCompile(`item-[0-9]+`)

// position makes a row's position comparable, nil: it has none, or it names an
// item that came after the start and so has no known place in the scan.
func (c *claims) position(row checkpoint.Checkpoint) *big.Int {
	if shardOf(row.Partition) != "" && row.Position != "" {
		return number(row.Position)
	}
	if place, ok := c.places[itemID.FindString(row.Position)]; ok && segmentOf(row.Partition) != "" {
		return big.NewInt(int64(place))
	}
	return nil
}

func number(sequence string) *big.Int {
	n, ok := new(big.Int).SetString(sequence, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}
