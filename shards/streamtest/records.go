package streamtest

import (
	"fmt"
	"sort"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	maxRecords     = 1000
	maxRecordsSize = 1 << 20
)

// shardLocked finds a shard that is still retained, trimmed to now.
func (s *Service) shardLocked(arn, id string, now time.Time) (*stream, *shard, error) {
	st := s.streams[arn]
	if st == nil {
		return nil, nil, noSuchStream(arn)
	}
	sh := st.find(id)
	if sh == nil {
		return nil, nil, noSuchShard(id, arn)
	}
	sh.trimTo(now.Add(-st.retain))
	return st, sh, nil
}

func (s *Service) getShardIterator(in *dynamodbstreams.GetShardIteratorInput) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	_, sh, err := s.shardLocked(aws.ToString(in.StreamArn), aws.ToString(in.ShardId), now)
	if err != nil {
		return nil, err
	}
	it := iterator{arn: *in.StreamArn, shard: sh.id, issued: now, epoch: s.epoch}
	byNumber := in.ShardIteratorType == streams.ShardIteratorTypeAtSequenceNumber || in.ShardIteratorType == streams.ShardIteratorTypeAfterSequenceNumber
	if byNumber != (in.SequenceNumber != nil) {
		return nil, invalid("SequenceNumber goes with AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER, and only with them; type is %q", in.ShardIteratorType)
	}
	if (in.ShardIteratorType == streams.ShardIteratorTypeAtTimestamp) != (in.Timestamp != nil) {
		return nil, invalid("Timestamp goes with AT_TIMESTAMP, and only with it; type is %q", in.ShardIteratorType)
	}
	switch in.ShardIteratorType {
	case streams.ShardIteratorTypeTrimHorizon:
		it.after = sh.trimmed
	case streams.ShardIteratorTypeLatest:
		it.after = sh.numbers.last
	case streams.ShardIteratorTypeAtTimestamp:
		if in.Timestamp.After(now) {
			return nil, invalid("Timestamp is in the future")
		}
		it.after = sh.before(*in.Timestamp)
	case streams.ShardIteratorTypeAtSequenceNumber, streams.ShardIteratorTypeAfterSequenceNumber:
		q, err := parseSequence(*in.SequenceNumber)
		if err != nil {
			return nil, invalid("Invalid SequenceNumber: %v", err)
		}
		if q.less(sh.start) || !sh.isOpen() && sh.end.less(q) {
			return nil, invalid("Invalid SequenceNumber: %s is not in the range of shard %s", *in.SequenceNumber, sh.id)
		}
		if !sh.trimmed.less(q) {
			return nil, trimmedAccess(sh.id)
		}
		if it.after = q; in.ShardIteratorType == streams.ShardIteratorTypeAtSequenceNumber {
			it.after = q.minusOne()
		}
	default:
		return nil, invalid("1 validation error detected: Value '%s' at 'shardIteratorType' failed to satisfy constraint", in.ShardIteratorType)
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(it.String())}, nil
}

// before returns the number of the last record created before t, as far as a
// reader knows creation times: to the second.
func (sh *shard) before(t time.Time) sequence {
	i := sort.Search(len(sh.records), func(i int) bool { return !sh.records[i].at.Truncate(time.Second).Before(t) })
	if i == 0 {
		return sh.trimmed
	}
	return sh.records[i-1].seq
}

func (q sequence) minusOne() sequence {
	if q.lo == 0 {
		return sequence{q.hi - 1, sequenceBase - 1}
	}
	return sequence{q.hi, q.lo - 1}
}

func (s *Service) getRecords(in *dynamodbstreams.GetRecordsInput) (*dynamodbstreams.GetRecordsOutput, error) {
	limit := int(aws.ToInt32(in.Limit))
	if in.Limit == nil {
		limit = maxRecords
	}
	if limit < 1 || limit > maxRecords {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be from 1 to 1000", limit)
	}
	it, err := parseIterator(aws.ToString(in.ShardIterator))
	if err != nil {
		return nil, err
	}
	next, found, view, err := s.read(it, limit)
	if err != nil {
		return nil, err
	}
	// Records are immutable: copying them into the SDK's types needs no lock.
	out := &dynamodbstreams.GetRecordsOutput{NextShardIterator: next, Records: make([]streams.Record, len(found))}
	for i := range found {
		out.Records[i] = s.wireRecord(&found[i], view)
	}
	return out, nil
}

// read finds the records behind an iterator, and the iterator behind them: nil
// when the shard is closed and this was its rest.
func (s *Service) read(it iterator, limit int) (*string, []record, streams.StreamViewType, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	if it.epoch != s.epoch || now.Sub(it.issued) > s.cfg.IteratorLife {
		return nil, nil, "", &streams.ExpiredIteratorException{Message: aws.String("Iterator expired. The iterator was created at time " + it.issued.UTC().Format(time.RFC3339))}
	}
	st, sh, err := s.shardLocked(it.arn, it.shard, now)
	if err != nil {
		return nil, nil, "", err
	}
	if s.hook.overLimit("GetRecords", &sh.calls, s.cfg.Limits.GetRecords, now) {
		return nil, nil, "", faultError(LimitExceeded, true)
	}
	if it.after.less(sh.trimmed) {
		return nil, nil, "", trimmedAccess(sh.id)
	}
	view := streams.StreamViewType(st.view)
	from := sh.after(it.after)
	to := from
	if from == len(sh.records) || s.cfg.EmptyPages == 0 || s.chanceLocked() >= s.cfg.EmptyPages {
		for size := 0; to < len(sh.records) && to-from < limit; to++ {
			if size += sh.records[to].size; size > maxRecordsSize && to > from {
				break
			}
		}
	}
	if to == len(sh.records) && !sh.isOpen() {
		return nil, append([]record(nil), sh.records[from:to]...), view, nil
	}
	if to > from {
		it.after = sh.records[to-1].seq
	}
	it.issued = now
	return aws.String(it.String()), append([]record(nil), sh.records[from:to]...), view, nil
}

func (s *Service) wireRecord(r *record, view streams.StreamViewType) streams.Record {
	id := mix(r.seq.hi ^ mix(r.seq.lo))
	out := streams.Record{
		AwsRegion:    aws.String(s.cfg.Region),
		EventID:      aws.String(fmt.Sprintf("%016x%016x", id, mix(id+r.seq.lo))),
		EventName:    r.op,
		EventSource:  aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		Dynamodb: &streams.StreamRecord{
			ApproximateCreationDateTime: aws.Time(r.at.Truncate(time.Second)),
			Keys:                        value.ForStream(r.keys),
			NewImage:                    value.ForStream(r.new),
			OldImage:                    value.ForStream(r.old),
			SequenceNumber:              aws.String(r.seq.String()),
			SizeBytes:                   aws.Int64(int64(r.size)),
			StreamViewType:              view,
		},
	}
	if r.ttl {
		out.UserIdentity = &streams.Identity{PrincipalId: aws.String("dynamodb.amazonaws.com"), Type: aws.String("Service")}
	}
	return out
}
