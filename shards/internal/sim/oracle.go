package sim

import (
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
	mu      sync.Mutex
	strict  bool
	records map[string]*record   // by shard and sequence number, until settled and old
	ofShard map[string][]*record // in order
	open    map[string]int       // not settled, by shard
	parents map[string]string
	last    map[string]int // version handed out last in this attempt, by key

	written, settled, repeated    int
	early, disorder, latest, gaps int
	seen                          int // shards
	longest                       time.Duration
}

type record struct {
	number  shards.SequenceNumber
	shard   string
	created time.Time
	settled bool
}

func newOracle() *oracle {
	return &oracle{records: map[string]*record{}, ofShard: map[string][]*record{}, open: map[string]int{}, parents: map[string]string{}}
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
	r := &record{number: n, shard: c.ShardID, created: c.Created}
	o.records[c.ShardID+c.SequenceNumber] = r
	o.ofShard[c.ShardID] = append(o.ofShard[c.ShardID], r)
	o.open[c.ShardID]++
	o.written++
}

// learn notes the shards' parents, and forgets the records of long gone shards
// that were settled.
func (o *oracle) learn(list []streamtest.Shard) {
	o.mu.Lock()
	defer o.mu.Unlock()
	listed := make(map[string]bool, len(list))
	for _, sh := range list {
		listed[sh.ID] = true
		if _, known := o.parents[sh.ID]; !known {
			o.seen++
		}
		o.parents[sh.ID] = sh.Parent
	}
	for id := range o.parents {
		if !listed[id] {
			delete(o.parents, id)
		}
	}
	for id, rs := range o.ofShard {
		if listed[id] || o.open[id] > 0 || time.Since(rs[len(rs)-1].created) < 72*time.Hour {
			continue
		}
		for _, r := range rs {
			delete(o.records, id+r.number.String())
		}
		delete(o.ofShard, id)
		delete(o.open, id)
	}
}

// handed checks a batch as it is handed out.
func (o *oracle) handed(b streamreader.Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.parents[b.ShardID]; o.strict && p != "" && o.open[p] > 0 {
		o.early++
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
	for _, rec := range b.Records {
		r := o.records[b.ShardID+*rec.Dynamodb.SequenceNumber]
		switch {
		case r == nil: // of before the start, or long settled
		case r.settled:
			o.repeated++
		default:
			r.settled = true
			o.settled++
			o.open[r.shard]--
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
	if row.Complete && o.open[id] > 0 {
		return true
	}
	if row.Position == "" {
		return false
	}
	n, err := shards.ParseSequenceNumber(row.Position)
	if err != nil {
		return true
	}
	for _, r := range o.ofShard[id] {
		if r.number.Compare(n) <= 0 && !r.settled {
			return true
		}
	}
	return false
}
