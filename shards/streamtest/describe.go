package streamtest

import (
	"slices"
	"sort"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const maxListing = 100

func (s *Service) listStreams(in *dynamodbstreams.ListStreamsInput) (*dynamodbstreams.ListStreamsOutput, error) {
	limit := aws.ToInt32(in.Limit)
	if in.Limit == nil {
		limit = maxListing
	}
	if limit < 1 || limit > maxListing {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be from 1 to 100", limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowLocked()
	var arns []string
	for arn, st := range s.streams {
		if (in.TableName == nil || *in.TableName == st.table.name) && arn > aws.ToString(in.ExclusiveStartStreamArn) {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	out := &dynamodbstreams.ListStreamsOutput{Streams: []streams.Stream{}}
	for i, arn := range arns {
		if i == int(limit) {
			out.LastEvaluatedStreamArn = aws.String(arns[i-1])
			break
		}
		st := s.streams[arn]
		out.Streams = append(out.Streams, streams.Stream{StreamArn: aws.String(arn), StreamLabel: aws.String(st.label), TableName: aws.String(st.table.name)})
	}
	return out, nil
}

func (s *Service) describeStream(in *dynamodbstreams.DescribeStreamInput) (*dynamodbstreams.DescribeStreamOutput, error) {
	limit := int(aws.ToInt32(in.Limit))
	if in.Limit == nil {
		limit = maxListing
	}
	if limit < 1 || limit > maxListing {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be from 1 to 100", limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	st := s.streams[aws.ToString(in.StreamArn)]
	if st == nil {
		return nil, noSuchStream(aws.ToString(in.StreamArn))
	}
	if s.hook.overLimit("DescribeStream", &s.hook.describes, s.cfg.Limits.DescribeStream, now) {
		return nil, faultError(Throttle, true)
	}
	d := &streams.StreamDescription{
		StreamArn:               aws.String(st.arn),
		StreamLabel:             aws.String(st.label),
		StreamStatus:            streams.StreamStatusEnabled,
		StreamViewType:          streams.StreamViewType(st.view),
		TableName:               aws.String(st.table.name),
		CreationRequestDateTime: aws.Time(st.created),
		Shards:                  []streams.Shard{},
	}
	if !st.ended.IsZero() {
		d.StreamStatus = streams.StreamStatusDisabled
	}
	for _, k := range keySchema(st.table.schema) {
		d.KeySchema = append(d.KeySchema, streams.KeySchemaElement{AttributeName: k.AttributeName, KeyType: streams.KeyType(k.KeyType)})
	}
	if err := s.listShards(st, in, limit, now, d); err != nil {
		return nil, err
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (s *Service) listShards(st *stream, in *dynamodbstreams.DescribeStreamInput, limit int, now time.Time, d *streams.StreamDescription) error {
	keep := func(*shard) bool { return true }
	if f := in.ShardFilter; f != nil {
		if f.Type != streams.ShardFilterTypeChildShards || f.ShardId == nil {
			return invalid("ShardFilter needs Type CHILD_SHARDS and a ShardId")
		}
		keep = func(sh *shard) bool { return sh.parent == *f.ShardId }
	}
	from := 0
	if in.ExclusiveStartShardId != nil {
		// The shard may have aged out since it was listed: its place has not.
		id := *in.ExclusiveStartShardId
		from = sort.Search(len(st.shards), func(i int) bool { return st.shards[i].id > id })
		if s.cfg.Inconsistency.EmptyPages > 0 && s.chanceLocked() < s.cfg.Inconsistency.EmptyPages {
			d.LastEvaluatedShardId = aws.String(id)
			return nil
		}
	}
	// One allocation for the texts of a page: listings of tens of thousands of
	// shards are what simulations spend their time on.
	room := min(limit, len(st.shards)-from)
	texts := make([]shardTexts, room)
	d.Shards = make([]streams.Shard, 0, room)
	last := ""
	for taken := 0; from < len(st.shards); from++ {
		sh := st.shards[from]
		if sh.gone || !keep(sh) {
			continue
		}
		if taken++; taken > limit {
			d.LastEvaluatedShardId = aws.String(last)
			return nil
		}
		last = sh.id
		if v, ok := s.listed(sh, &texts[taken-1], now); ok {
			d.Shards = append(d.Shards, v)
		}
	}
	return nil
}

// shardTexts is what a listed shard's pointers point at.
type shardTexts struct {
	id, parent, start, end string
	numbers                streams.SequenceNumberRange
}

// listed shows a shard as this listing sees it: not at all, still open, or as it is.
func (s *Service) listed(sh *shard, box *shardTexts, now time.Time) (streams.Shard, bool) {
	box.id, box.parent, box.start, box.end = sh.id, sh.parent, sh.startText, sh.endText
	box.numbers.StartingSequenceNumber = &box.start
	v := streams.Shard{ShardId: &box.id, SequenceNumberRange: &box.numbers}
	if sh.parent != "" {
		v.ParentShardId = &box.parent
	}
	closed := !sh.isOpen()
	if lag := s.cfg.Inconsistency; lag.Window > 0 && lag.Chance > 0 {
		justOpened, justClosed := now.Sub(sh.opened) < lag.Window, closed && now.Sub(sh.closed) < lag.Window
		if (justOpened || justClosed) && s.chanceLocked() < lag.Chance {
			if justOpened || s.chanceLocked() < 0.5 {
				return v, false
			}
			closed = false
		}
	}
	if closed {
		box.numbers.EndingSequenceNumber = &box.end
	}
	return v, true
}
