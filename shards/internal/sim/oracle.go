package sim

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// oracle knows every record from the writing side.
type oracle struct {
	mu     sync.Mutex
	strict bool
	shards map[string]*history // retained ones, and those with something unsettled
	last   map[string]int      // version handed out last in this attempt, by key

	written, settled, repeated    int
	early, disorder, latest, gaps int
	seen                          int // shards
	passes                        int // of learn
	longest                       time.Duration
}

// history is what was written into one shard, in order.
type history struct {
	parent  string
	listed  int // pass of learn that saw it last
	records []record
	open    int // not settled
}

type record struct {
	number  shards.SequenceNumber
	created time.Time
	settled bool
}

// find returns the record of a number, nil if it was never owed.
func (h *history) find(n shards.SequenceNumber) *record {
	i, ok := slices.BinarySearchFunc(h.records, n, func(r record, n shards.SequenceNumber) int { return r.number.Compare(n) })
	if !ok {
		return nil
	}
	return &h.records[i]
}

func newOracle() *oracle { return &oracle{shards: map[string]*history{}} }

func (o *oracle) ofLocked(shard string) *history {
	h := o.shards[shard]
	if h == nil {
		h = &history{listed: o.passes}
		o.shards[shard] = h
		o.seen++
	}
	return h
}

func (o *oracle) begin(strict bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.strict, o.last = strict, map[string]int{}
}

func (o *oracle) wrote(c streamtest.Change) {
	n, err := shards.ParseSequenceNumber(c.SequenceNumber)
	if err != nil {
		panic(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.ofLocked(c.ShardID)
	h.records = append(h.records, record{number: n, created: c.Created})
	h.open++
	o.written++
}

// learn notes the shards' parents, and forgets the shards that are gone and
// settled: nothing of them can come again.
func (o *oracle) learn(list []streamtest.Shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passes++
	for _, sh := range list {
		h := o.ofLocked(sh.ID)
		h.parent, h.listed = sh.Parent, o.passes
	}
	for id, h := range o.shards {
		if h.listed < o.passes && h.open == 0 {
			delete(o.shards, id)
		}
	}
}

// handed checks a batch as it is handed out.
func (o *oracle) handed(b streamreader.Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.shards[b.ShardID]; o.strict && h != nil {
		if p := o.shards[h.parent]; p != nil && p.open > 0 {
			o.early++
		}
	}
	for _, rec := range b.Records {
		key := rec.Dynamodb.Keys["id"].(*types.AttributeValueMemberS).Value
		v, _ := strconv.Atoi(rec.Dynamodb.NewImage["v"].(*types.AttributeValueMemberN).Value)
		if o.strict && v < o.last[key] {
			o.disorder++
		}
		o.last[key] = v
	}
}

// acked notes that the sink has a batch.
func (o *oracle) acked(b streamreader.Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.shards[b.ShardID]
	if h == nil {
		return // long settled
	}
	for _, rec := range b.Records {
		n, err := shards.ParseSequenceNumber(*rec.Dynamodb.SequenceNumber)
		if err != nil {
			panic(err)
		}
		r := h.find(n)
		switch {
		case r == nil: // of before the start
		case r.settled:
			o.repeated++
		default:
			r.settled = true
			o.settled++
			h.open--
			o.longest = max(o.longest, time.Since(r.created))
		}
	}
}

func (o *oracle) resumedAtLatest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest++
}

func (o *oracle) gap() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gaps++
}

func (o *oracle) lost() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written - o.settled
}

// ahead reports whether a durable row claims more than the sink has.
func (o *oracle) ahead(row checkpoint.Checkpoint) bool {
	id := row.Partition[strings.LastIndexByte(row.Partition, '/')+1:]
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.shards[id]
	if h == nil || h.open == 0 {
		return false
	}
	if row.Complete {
		return true
	}
	if row.Position == "" {
		return false
	}
	n, err := shards.ParseSequenceNumber(row.Position)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(h.records, func(r record) bool { return r.number.Compare(n) <= 0 && !r.settled })
}
