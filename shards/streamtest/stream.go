package streamtest

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func mix(x uint64) uint64 { return value.Mix(x) }

// stream is one stream of a table: enabling it again makes another.
type stream struct {
	table   *table
	arn     string
	label   string
	view    types.StreamViewType
	created time.Time
	ended   time.Time // when it was disabled, zero while enabled
	seed    uint64
	retain  time.Duration

	// parts are the open shards, ordered by the start of their range of the
	// partition space. Empty once disabled.
	parts []part
	// shards are all retained shards, and some that are gone, in the order of
	// their ids, which is the order they were opened in.
	shards  []*shard
	dropped int // how many of them are gone
	lastID  int64
}

type part struct {
	start uint64
	shard *shard
}

// shard is an append-only list of records, oldest first. What listings look at
// comes first and side by side: they pass tens of thousands of shards.
type shard struct {
	id, parent string
	// The first and the last number as listings show them.
	startText, endText string
	opened             time.Time
	closed             time.Time // zero while open
	gone               bool      // aged out of the stream

	ordinal int64
	from    uint64 // start of its range of the partition space
	numbers sequencer
	start   sequence // first number that could be in it
	end     sequence // last number that could be in it; zero while open
	records []record
	trimmed sequence // newest number that was trimmed; zero if none
	calls   rate     // GetRecords calls
}

// record is one change. Images are shared with the table and never modified.
type record struct {
	seq  sequence
	at   time.Time
	op   streams.OperationType
	keys Item
	old  Item
	new  Item
	size int
	ttl  bool
}

// open appends a shard to the stream. Numbers continue those of from.
func (st *stream) open(now time.Time, from uint64, parent string, numbers sequencer) *shard {
	// Ids carry milliseconds; two shards of one millisecond still differ and
	// keep their order.
	st.lastID = max(st.lastID+1, now.UnixMilli())
	sh := &shard{
		id:      fmt.Sprintf("shardId-%020d-%08x", st.lastID, uint32(mix(st.seed^uint64(st.lastID)))),
		ordinal: st.lastID,
		parent:  parent,
		from:    from,
		opened:  now,
		numbers: numbers,
	}
	sh.start = sh.numbers.take()
	sh.startText = sh.start.String()
	st.shards = append(st.shards, sh)
	return sh
}

func (sh *shard) isOpen() bool { return sh.closed.IsZero() }

func (sh *shard) close(now time.Time) {
	sh.closed = now
	sh.end = sh.numbers.take()
	sh.endText = sh.end.String()
}

// rotate closes the shard of part i and opens its child.
func (st *stream) rotate(i int, now time.Time) *shard {
	parent := st.parts[i].shard
	parent.close(now)
	child := st.open(now, parent.from, parent.id, parent.numbers)
	st.parts[i].shard = child
	return child
}

// split closes the shard of part i and opens a child for each half of its range.
func (st *stream) split(i int, now time.Time) ([2]*shard, error) {
	start, end := st.parts[i].start, ^uint64(0)
	if i+1 < len(st.parts) {
		end = st.parts[i+1].start - 1
	}
	middle := start + (end-start)/2 + 1
	if middle <= start {
		return [2]*shard{}, fmt.Errorf("streamtest: shard %s is too narrow to split", st.parts[i].shard.id)
	}
	parent := st.parts[i].shard
	left := st.rotate(i, now)
	right := st.open(now, middle, parent.id, parent.numbers)
	st.parts = slices.Insert(st.parts, i+1, part{middle, right})
	return [2]*shard{left, right}, nil
}

// merge closes the shards of parts i and i+1 and opens one child for both. The
// API names one parent only: the left one.
func (st *stream) merge(i int, now time.Time) *shard {
	left, right := st.parts[i].shard, st.parts[i+1].shard
	right.close(now)
	if left.numbers.last.less(right.numbers.last) {
		left.numbers.last = right.numbers.last
	}
	st.parts = slices.Delete(st.parts, i+1, i+2)
	return st.rotate(i, now)
}

func (st *stream) partOf(hash uint64) int {
	return sort.Search(len(st.parts), func(i int) bool { return st.parts[i].start > hash }) - 1
}

// find returns a retained shard by its id, nil if there is none.
func (st *stream) find(id string) *shard {
	i, ok := sort.Find(len(st.shards), func(i int) int {
		switch at := st.shards[i].id; {
		case id < at:
			return -1
		case id > at:
			return 1
		}
		return 0
	})
	if !ok || st.shards[i].gone {
		return nil
	}
	return st.shards[i]
}

// partByID finds an open shard by its id.
func (st *stream) partByID(id string) (int, error) {
	if sh := st.find(id); sh != nil && sh.isOpen() {
		return st.partOf(sh.from), nil
	}
	return 0, fmt.Errorf("streamtest: stream %s has no open shard %s", st.arn, id)
}

// append records a change of an item, keeping only what the view shows.
func (st *stream) append(hash uint64, r record) (*shard, sequence) {
	sh := st.parts[st.partOf(hash)].shard
	sh.trimTo(r.at.Add(-st.retain))
	r.seq = sh.numbers.take()
	if st.view == types.StreamViewTypeKeysOnly || st.view == types.StreamViewTypeNewImage {
		r.old = nil
	}
	if st.view == types.StreamViewTypeKeysOnly || st.view == types.StreamViewTypeOldImage {
		r.new = nil
	}
	r.size = value.ItemSize(r.keys) + value.ItemSize(r.old) + value.ItemSize(r.new)
	sh.records = append(sh.records, r)
	return sh, r.seq
}

// trimTo forgets the records created at the horizon or before.
func (sh *shard) trimTo(horizon time.Time) {
	n := 0
	for n < len(sh.records) && !sh.records[n].at.After(horizon) {
		n++
	}
	if n == 0 {
		return
	}
	sh.trimmed = sh.records[n-1].seq
	clear(sh.records[:n]) // lets go of the images; the array goes when it next grows
	if sh.records = sh.records[n:]; len(sh.records) == 0 {
		sh.records = nil
	}
}

// after returns the index of the first record behind a number.
func (sh *shard) after(q sequence) int {
	return sort.Search(len(sh.records), func(i int) bool { return q.less(sh.records[i].seq) })
}
