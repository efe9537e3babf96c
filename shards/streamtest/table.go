package streamtest

import (
	"container/heap"
	"math/bits"
	"strconv"
	"time"

	"github.com/google/btree"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// table holds items ordered by partition, hash attribute and range attribute:
// the order of Scan, and within one hash value of Query.
type table struct {
	name    string
	id      string
	schema  value.Schema
	ttl     string
	shards  int // partitions of a stream that is enabled now or later
	created time.Time
	active  time.Time // CREATING until then
	items   *btree.BTreeG[entry]
	bytes   int64
	stream  *stream // the latest one, enabled or not; nil if none
}

// entry is an item in its place. Items are never modified, only replaced.
type entry struct {
	key     value.Encoded
	item    Item
	size    int
	prev    Item // as it was before the last write, if reads may be stale
	written time.Time
}

func newTable(spec Table, now time.Time) *table {
	keyType := func(t types.ScalarAttributeType) types.ScalarAttributeType {
		if t == "" {
			return types.ScalarAttributeTypeS
		}
		return t
	}
	t := &table{
		name:    spec.Name,
		shards:  max(1, spec.Shards),
		ttl:     spec.TTL,
		created: now,
		active:  now,
		items:   btree.NewG(32, func(a, b entry) bool { return a.key < b.key }),
	}
	t.schema.Hash = value.KeyPart{Name: spec.Hash, Type: keyType(spec.HashType)}
	if spec.Range != "" {
		t.schema.Range = value.KeyPart{Name: spec.Range, Type: keyType(spec.RangeType)}
	}
	return t
}

func (t *table) get(key value.Encoded) (entry, bool) { return t.items.Get(entry{key: key}) }

// write replaces an item, or deletes it if next is nil, and records the change.
// A write that changes nothing leaves no record.
func (s *Service) write(t *table, key value.Encoded, next Item, now time.Time, ttl bool) Change {
	old, existed := t.get(key)
	if next == nil && !existed || existed && next != nil && value.EqualItems(old.item, next) {
		return Change{}
	}
	if next == nil {
		t.items.Delete(entry{key: key})
		t.bytes -= int64(old.size)
	} else {
		size := value.ItemSize(next)
		e := entry{key: key, item: next, size: size}
		if s.cfg.StaleReads > 0 {
			e.prev, e.written = old.item, now
		}
		t.items.ReplaceOrInsert(e)
		t.bytes += int64(size - old.size)
		if due, ok := t.expiry(next); ok {
			heap.Push(&s.timeline, event{kind: itemExpires, at: due.Add(s.cfg.TTLDelay), table: t, key: key})
		}
	}
	st := t.stream
	if st == nil || !st.ended.IsZero() {
		return Change{}
	}
	r := record{at: now, old: old.item, new: next, ttl: ttl}
	switch {
	case next == nil:
		r.op, r.keys = streams.OperationTypeRemove, t.schema.Key(old.item)
	case existed:
		r.op, r.keys = streams.OperationTypeModify, t.schema.Key(next)
	default:
		r.op, r.keys = streams.OperationTypeInsert, t.schema.Key(next)
	}
	sh, seq := st.append(key.HashOf(), r)
	return Change{ShardID: sh.id, SequenceNumber: seq.String(), Created: now}
}

// expiry returns when an item expires. DynamoDB ignores values more than five
// years old.
func (t *table) expiry(item Item) (time.Time, bool) {
	n, ok := item[t.ttl].(*types.AttributeValueMemberN)
	if t.ttl == "" || !ok {
		return time.Time{}, false
	}
	sec, err := strconv.ParseInt(n.Value, 10, 64)
	return time.Unix(sec, 0), err == nil
}

// segment returns the range of the partition space that belongs to segment i
// of n: from first up to but not including next; next is 0 for the last one.
func segment(i, n int32) (first, next uint64) {
	point := func(i int32) uint64 {
		q, _ := bits.Div64(uint64(i), 0, uint64(n))
		return q
	}
	if i+1 < n {
		next = point(i + 1)
	}
	return point(i), next
}
