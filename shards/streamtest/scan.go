package streamtest

import (
	"strings"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/expr"
	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxPage is the size of items after which a page of Scan or Query ends.
const maxPage = 1 << 20

// page collects a page of Scan or Query.
type page struct {
	limit      int32
	filter     *expr.Condition
	projection *expr.Projection
	countOnly  bool

	items   []Item
	count   int32
	scanned int32
	size    int
	last    value.Item // the item the page ended with; nil at the end of the range
}

// add takes one more item; false when the page is full. As on AWS a page that
// ends with the last item of all does not know it, and says there may be more.
func (p *page) add(item Item, size int) bool {
	p.scanned++
	p.size += size
	if p.filter == nil || p.filter.Holds(item) {
		p.count++
		if !p.countOnly {
			p.items = append(p.items, item)
		}
	}
	if p.limit > 0 && p.scanned == p.limit || p.size >= maxPage {
		p.last = item
		return false
	}
	return true
}

// copied returns the page's items, projected, as the caller's own.
func (p *page) copied() []Item {
	out := make([]Item, len(p.items))
	for i, item := range p.items {
		out[i] = value.CopyItem(p.projection.Apply(item))
	}
	return out
}

func newPage(scope *expr.Scope, limit *int32, filterText, projection *string, sel types.Select) (*page, error) {
	p := &page{limit: aws.ToInt32(limit), countOnly: sel == types.SelectCount}
	if limit != nil && *limit < 1 {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *limit)
	}
	switch sel {
	case "", types.SelectAllAttributes, types.SelectCount, types.SelectSpecificAttributes:
	default:
		return nil, invalid("streamtest does not support Select %s", sel)
	}
	var err error
	if p.filter, err = filter(scope, filterText); err != nil {
		return nil, err
	}
	if p.projection, err = project(scope, projection); err != nil {
		return nil, err
	}
	return p, nil
}

func (s *Service) scan(in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	err := onlyKnown(in, "TableName", "ConsistentRead", "ExclusiveStartKey", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"FilterExpression", "Limit", "ProjectionExpression", "ReturnConsumedCapacity", "Segment", "Select", "TotalSegments")
	if err != nil {
		return nil, err
	}
	segments, i := int32(1), int32(0)
	if in.TotalSegments != nil || in.Segment != nil {
		if in.TotalSegments == nil || in.Segment == nil {
			return nil, invalid("The Segment and TotalSegments parameters are required together")
		}
		segments, i = *in.TotalSegments, *in.Segment
		if segments < 1 || segments > 1_000_000 || i < 0 || i >= segments {
			return nil, invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d, TotalSegments: %d", i, segments)
		}
	}
	scope, err := newScope(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	p, err := newPage(scope, in.Limit, in.FilterExpression, in.ProjectionExpression, in.Select)
	if err == nil {
		err = unused(scope)
	}
	if err != nil {
		return nil, err
	}
	out := &dynamodb.ScanOutput{}
	if err := s.scanPage(in, p, i, segments, out); err != nil {
		return nil, err
	}
	if !p.countOnly {
		out.Items = p.copied()
	}
	out.Count, out.ScannedCount = p.count, p.scanned
	out.ConsumedCapacity = capacity(in.ReturnConsumedCapacity, *in.TableName, readUnits(p.size, aws.ToBool(in.ConsistentRead)))
	return out, nil
}

func (s *Service) scanPage(in *dynamodb.ScanInput, p *page, i, segments int32, out *dynamodb.ScanOutput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.readyLocked(in.TableName, s.nowLocked())
	if err != nil {
		return err
	}
	first, next := segment(i, segments)
	from := value.Encoded(pointBytes(first))
	if len(in.ExclusiveStartKey) > 0 {
		key, err := t.schema.EncodeExact(in.ExclusiveStartKey)
		if err != nil {
			return invalid("The provided starting key is invalid: %v", err)
		}
		if h := key.HashOf(); h < first || next != 0 && h >= next {
			return invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", segments, i)
		}
		from = key + "\x00"
	}
	t.items.AscendGreaterOrEqual(entry{key: from}, func(e entry) bool {
		return (next == 0 || e.key.HashOf() < next) && p.add(e.item, e.size)
	})
	if p.last != nil {
		out.LastEvaluatedKey = value.CopyItem(t.schema.Key(p.last))
	}
	return nil
}

func pointBytes(h uint64) string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(h >> (56 - 8*i))
	}
	return string(b)
}

func (s *Service) query(in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	err := onlyKnown(in, "TableName", "ConsistentRead", "ExclusiveStartKey", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"FilterExpression", "KeyConditionExpression", "Limit", "ProjectionExpression", "ReturnConsumedCapacity", "ScanIndexForward", "Select")
	if err != nil {
		return nil, err
	}
	if in.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request (streamtest supports the latter)")
	}
	scope, err := newScope(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	p, err := newPage(scope, in.Limit, in.FilterExpression, in.ProjectionExpression, in.Select)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.QueryOutput{}
	if err := s.queryPage(in, scope, p, out); err != nil {
		return nil, err
	}
	if !p.countOnly {
		out.Items = p.copied()
	}
	out.Count, out.ScannedCount = p.count, p.scanned
	out.ConsumedCapacity = capacity(in.ReturnConsumedCapacity, *in.TableName, readUnits(p.size, aws.ToBool(in.ConsistentRead)))
	return out, nil
}

func (s *Service) queryPage(in *dynamodb.QueryInput, scope *expr.Scope, p *page, out *dynamodb.QueryOutput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.readyLocked(in.TableName, now)
	if err != nil {
		return err
	}
	cond, err := scope.KeyCondition(*in.KeyConditionExpression, t.schema)
	if err != nil {
		return invalid("Invalid KeyConditionExpression: %v", err)
	}
	if err := unused(scope); err != nil {
		return err
	}
	prefix, err := t.schema.EncodeHash(cond.Hash)
	if err != nil {
		return invalid("One or more parameter values were invalid: %v", err)
	}
	forward := in.ScanIndexForward == nil || *in.ScanIndexForward
	start := prefix
	if len(in.ExclusiveStartKey) > 0 {
		if start, err = t.schema.EncodeExact(in.ExclusiveStartKey); err != nil {
			return invalid("The provided starting key is invalid: %v", err)
		}
		if !strings.HasPrefix(string(start), string(prefix)) {
			return invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
	}
	t.walk(prefix, start, forward, s.visit(cond, p, !aws.ToBool(in.ConsistentRead), now))
	if p.last != nil {
		out.LastEvaluatedKey = value.CopyItem(t.schema.Key(p.last))
	}
	return nil
}

// visit adds an item to the page if it meets the key condition, as a stale
// read may see it.
func (s *Service) visit(cond *expr.KeyCondition, p *page, eventual bool, now time.Time) func(entry) bool {
	return func(e entry) bool {
		if !cond.Holds(e.item) {
			return true
		}
		if eventual && s.staleLocked(e, now) {
			return e.prev == nil || p.add(e.prev, value.ItemSize(e.prev))
		}
		return p.add(e.item, e.size)
	}
}

// aboveAll is above every range attribute, which has at most 1,024 bytes.
var aboveAll = value.Encoded(strings.Repeat("\xff", 1100))

// walk visits the entries of one hash value behind start, or all of them if
// start is the prefix itself.
func (t *table) walk(prefix, start value.Encoded, forward bool, visit func(entry) bool) {
	within := func(e entry) bool { return strings.HasPrefix(string(e.key), string(prefix)) && visit(e) }
	switch {
	case !forward && start == prefix:
		t.items.DescendLessOrEqual(entry{key: prefix + aboveAll}, within)
	case !forward:
		t.items.DescendLessOrEqual(entry{key: start}, func(e entry) bool { return e.key == start || within(e) })
	case start == prefix:
		t.items.AscendGreaterOrEqual(entry{key: prefix}, within)
	default:
		t.items.AscendGreaterOrEqual(entry{key: start + "\x00"}, within)
	}
}
