package shards

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// history is a stream, a checkpoint store and a reader, reduced to what Resolve
// and Lineage decide upon. Its oracle knows every record by a number of its own
// and where it was delivered and settled.
type history struct {
	t   *rapid.T
	now time.Time

	region  int // raised by a fail-over: other shards, other sequence numbers
	shards  map[string]*sourceShard
	open    []string
	serial  int // shards made
	records []sourceRecord

	origin   Origin
	rows     map[string]row // the store
	storeOff bool
	cutoff   time.Time
	margin   time.Duration

	run       *attempt // nil: not running
	runs      int
	delivered map[int]bool // settled by the sink, by record
	leftOut   map[int]bool // was in a shard before it started at LATEST
	latest    int          // times that LATEST was asked for
}

type sourceShard struct {
	id, parent string
	closed     bool
	records    []int
}

type sourceRecord struct {
	created time.Time
	number  [2]SequenceNumber // in either region
}

type row struct {
	position SequenceNumber
	at       time.Time
	complete bool
}

type attempt struct {
	fresh   bool // the Freshness is not used up
	first   map[string]bool
	lineage *Lineage
	readers map[string]*cursor
}

type cursor struct {
	positioned bool
	valid      bool // has an iterator
	next       int  // index into the shard's records
	skip       Start
	last       SequenceNumber
	pending    []int // delivered, not settled: in order
	ended      bool
}

func (h *history) openShard(parent string) {
	h.serial++
	s := &sourceShard{id: "s" + strconv.Itoa(h.serial), parent: parent}
	h.shards[s.id] = s
	h.open = append(h.open, s.id)
}

func (h *history) begin(latest bool) {
	h.origin = Origin{Latest: latest, Time: h.now.Truncate(time.Second)}
	h.start(true)
}

func (h *history) start(created bool) {
	h.runs++
	h.run = &attempt{fresh: created && h.origin.Latest, first: map[string]bool{}, lineage: NewLineage(Strict), readers: map[string]*cursor{}}
	for id, r := range h.rows {
		h.run.lineage.Restore(id, r.complete, !r.position.IsZero())
	}
}

func (h *history) write() {
	i := len(h.records)
	h.records = append(h.records, sourceRecord{
		created: h.now.Truncate(time.Second),
		number:  [2]SequenceNumber{digits(1000 + 7*i), digits(500 + 3*i)},
	})
	s := h.shards[h.open[i%len(h.open)]]
	s.records = append(s.records, i)
}

func digits(i int) SequenceNumber {
	n, err := ParseSequenceNumber(fmt.Sprintf("%021d", i))
	if err != nil {
		panic(err)
	}
	return n
}

// discover lists everything, or a part, and uses the Freshness up.
func (h *history) discover(listed func(string) bool) {
	a := h.run
	a.lineage.Begin()
	all := true
	for _, id := range slices.Sorted(maps.Keys(h.shards)) {
		s := h.shards[id]
		if !listed(id) {
			all = false
			continue
		}
		sh := Shard{ID: id, Closed: s.closed}
		if s.parent != "" {
			sh.Parents = []string{s.parent}
		}
		a.lineage.Observe(sh)
		if !a.fresh {
			continue
		}
		a.first[id] = true
		for _, ex := range append(sh.Parents, id) {
			if (ex != id || s.closed) && a.lineage.Exclude(ex) {
				h.leaveOut(ex)
			}
		}
	}
	if all {
		a.lineage.End()
	}
	a.fresh = false
	for _, id := range a.lineage.Take() {
		a.readers[id] = &cursor{}
	}
}

func (h *history) leaveOut(id string) {
	if s := h.shards[id]; s != nil {
		for _, r := range s.records {
			h.leftOut[r] = true
		}
	}
}

// position asks Resolve, and the world for an iterator.
func (h *history) position(id string, answered bool) {
	c, s, r := h.run.readers[id], h.shards[id], h.rows[id]
	e := Evidence{
		Complete: r.complete, LastRead: c.last, Checkpoint: r.position,
		Origin: h.origin, Fresh: h.run.first[id], Positioned: c.positioned,
		Cutoff: h.cutoff, Margin: h.margin,
	}
	start, again := Resolve(e), c.positioned
	c.positioned = true
	if start.Kind == Latest {
		h.latest++
		require.True(h.t, h.origin.Latest && h.runs == 1 && h.run.first[id] && !again && r == (row{}), "S1: LATEST for %s", id)
	}
	if !answered {
		return
	}
	c.valid, c.skip = true, start
	switch start.Kind {
	case None:
		h.t.Fatalf("%s is complete, yet it was handed out", id)
	case Latest:
		c.next = len(s.records)
		h.leaveOut(id)
	case TrimHorizon:
		c.next = 0
	case AfterSequenceNumber:
		for c.next = 0; c.next < len(s.records) && h.number(s.records[c.next]).Compare(start.After) <= 0; {
			c.next++
		}
	}
}

func (h *history) number(r int) SequenceNumber { return h.records[r].number[h.region%2] }

// read brings up to n records; the last page of a closed shard ends it.
func (h *history) read(id string, n int) {
	c, s := h.run.readers[id], h.shards[id]
	for ; n > 0 && c.next < len(s.records); n-- {
		r := s.records[c.next]
		c.next++
		c.last = h.number(r)
		if c.skip.Skips(h.records[r].created) {
			r = -1 - r // left out, but progress moves over it
		}
		c.pending = append(c.pending, r)
	}
	c.ended = s.closed && c.next == len(s.records)
}

// settle acks the oldest n pending records and saves the position.
func (h *history) settle(id string, n int) {
	c, s := h.run.readers[id], h.shards[id]
	for ; n > 0 && len(c.pending) > 0; n-- {
		r := c.pending[0]
		c.pending = c.pending[1:]
		if r >= 0 {
			h.delivered[r] = true
		} else {
			r = -1 - r
		}
		if !h.storeOff {
			h.rows[id] = row{position: h.number(r), at: h.records[r].created}
		}
	}
	if c.ended && len(c.pending) == 0 && !h.storeOff {
		rw := h.rows[id]
		rw.complete = true
		h.rows[id] = rw
		h.run.lineage.Complete(s.id)
		delete(h.run.readers, id)
		for _, id := range h.run.lineage.Take() {
			h.run.readers[id] = &cursor{}
		}
	}
}

// lost lists what is owed and was not delivered, if reading ended here.
func (h *history) lost() (ids []int) {
	for i, r := range h.records {
		owed := !h.origin.Latest || !r.created.Before(h.origin.Time)
		if owed && !h.delivered[i] && !h.leftOut[i] {
			ids = append(ids, i)
		}
	}
	return ids
}

// failOver moves to the other region: the same records in other shards, under
// other numbers, dated up to skew apart.
func (h *history) failOver(skew time.Duration) {
	// What is durable says that everything before this was settled. A shard
	// with no position, and one never opened, counts with its first record.
	var low time.Time
	for id, s := range h.shards {
		r := h.rows[id]
		for _, rec := range s.records {
			if !r.complete && h.number(rec).Compare(r.position) > 0 && !h.leftOut[rec] {
				if at := h.records[rec].created; low.IsZero() || at.Before(low) {
					low = at
				}
			}
		}
	}
	if low.IsZero() {
		low = h.now
	}
	h.cutoff, h.margin = low, skew+time.Second
	h.region++
	h.shards, h.open, h.rows = map[string]*sourceShard{}, nil, map[string]row{}
	h.openShard("")
	h.openShard("")
	for i := range h.records {
		h.records[i].created = h.records[i].created.Add(-skew)
		s := h.shards[h.open[i%2]]
		s.records = append(s.records, i)
	}
	h.origin.Time = h.origin.Time.Add(-skew)
	h.run = nil
}

// finish reads everything there is, in an attempt that meets no more trouble.
func (h *history) finish() {
	h.storeOff = false
	if h.run == nil {
		h.start(false)
	}
	for range 2 * len(h.shards) {
		h.discover(func(string) bool { return true })
		for _, id := range slices.Sorted(maps.Keys(h.run.readers)) {
			c := h.run.readers[id]
			if !c.valid {
				h.position(id, true)
			}
			h.read(id, len(h.records))
			h.settle(id, len(h.records))
		}
	}
}

func TestS2_NothingOwedIsSkippedWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			shards: map[string]*sourceShard{}, rows: map[string]row{}, delivered: map[int]bool{}, leftOut: map[int]bool{},
		}
		h.openShard("")
		h.openShard("")
		for range rapid.IntRange(0, 6).Draw(t, "before") {
			h.write()
			h.now = h.now.Add(400 * time.Millisecond)
		}
		h.begin(rapid.Bool().Draw(t, "latest"))
		reader := func(t *rapid.T) string {
			if h.run == nil || len(h.run.readers) == 0 {
				t.Skip()
			}
			return rapid.SampledFrom(slices.Sorted(maps.Keys(h.run.readers))).Draw(t, "shard")
		}
		valid := func(t *rapid.T) string {
			id := reader(t)
			if !h.run.readers[id].valid {
				t.Skip()
			}
			return id
		}
		count := rapid.IntRange(1, 4)
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				for range count.Draw(t, "n") {
					h.write()
				}
			},
			"time": func(t *rapid.T) { h.now = h.now.Add(time.Duration(count.Draw(t, "n")) * 400 * time.Millisecond) },
			"rotate": func(t *rapid.T) {
				i := rapid.IntRange(0, len(h.open)-1).Draw(t, "i")
				parent := h.open[i]
				h.open = slices.Delete(h.open, i, i+1)
				h.shards[parent].closed = true
				for range rapid.IntRange(1, 2).Draw(t, "children") {
					h.openShard(parent)
				}
			},
			"discover": func(t *rapid.T) {
				if h.run == nil {
					t.Skip()
				}
				all := rapid.Bool().Draw(t, "all")
				h.discover(func(id string) bool { return all || rapid.Bool().Draw(t, id) })
			},
			"position": func(t *rapid.T) { h.position(reader(t), rapid.Bool().Draw(t, "answered")) },
			"read":     func(t *rapid.T) { h.read(valid(t), count.Draw(t, "n")) },
			"settle":   func(t *rapid.T) { h.settle(valid(t), count.Draw(t, "n")) },
			"expire":   func(t *rapid.T) { h.run.readers[valid(t)].valid = false },
			"outage":   func(t *rapid.T) { h.storeOff = !h.storeOff },
			"crash": func(t *rapid.T) {
				if h.run == nil {
					t.Skip()
				}
				h.run = nil
			},
			"restart": func(t *rapid.T) {
				if h.run != nil {
					t.Skip()
				}
				h.start(false)
			},
			"fail over": func(t *rapid.T) {
				if h.region > 0 || h.storeOff {
					t.Skip()
				}
				h.failOver(time.Duration(rapid.IntRange(0, 3).Draw(t, "skew")) * time.Second)
			},
		})
		h.finish()
		require.Empty(t, h.lost(), "S2: origin %v, region %d, runs %d", h.origin, h.region, h.runs)
	})
}
