package conformance

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func init() {
	streamCheck("stream of a table", checkStreamOfTable)
	streamCheck("records and images", checkRecords)
	streamCheck("a write that changes nothing", checkNoChange)
	streamCheck("iterator types", checkIterators)
	streamCheck("limit of GetRecords", checkRecordLimit)
	streamCheck("missing stream", checkMissingStream)
}

// feed is a table with a stream, and its shards' iterators by type.
type feed struct {
	ctx   context.Context
	b     Backend
	table string
	arn   string
}

func newFeed(ctx context.Context, b Backend, view types.StreamViewType) (feed, error) {
	table, err := newTable(ctx, b.Tables, "", view)
	if err != nil {
		return feed{}, err
	}
	out, err := b.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return feed{}, err
	}
	if out.Table.LatestStreamArn == nil {
		return feed{}, fmt.Errorf("DescribeTable answers no LatestStreamArn")
	}
	return feed{ctx, b, table, *out.Table.LatestStreamArn}, nil
}

func (f feed) put(h, amount string) error {
	_, err := f.b.Tables.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: &f.table, Item: Item{"h": str(h), "amount": num(amount)}})
	return err
}

func (f feed) shards() (all []streams.Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn}
	for {
		out, err := f.b.Streams.DescribeStream(f.ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, nil
		}
	}
}

// iterators returns one for each shard.
func (f feed) iterators(typ streams.ShardIteratorType, number string) (its []string, err error) {
	shards, err := f.shards()
	for _, sh := range shards {
		in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &f.arn, ShardId: sh.ShardId, ShardIteratorType: typ}
		if number != "" {
			in.SequenceNumber = &number
		}
		out, err := f.b.Streams.GetShardIterator(f.ctx, in)
		if err != nil {
			return nil, err
		}
		its = append(its, *out.ShardIterator)
	}
	return its, err
}

// drain reads iterators until they answer nothing, some times over: an answer
// without records does not mean that there are none.
func (f feed) drain(its []string, limit int32) (all []streams.Record, err error) {
	for _, it := range its {
		next := &it
		for empty := 0; next != nil && empty < 3; {
			out, err := f.b.Streams.GetRecords(f.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next, Limit: &limit})
			if err != nil {
				return nil, err
			}
			if len(out.Records) > int(limit) {
				return nil, fmt.Errorf("%d records with Limit %d", len(out.Records), limit)
			}
			if empty++; len(out.Records) > 0 {
				empty = 0
			}
			all = append(all, out.Records...)
			next = out.NextShardIterator
		}
	}
	return all, nil
}

// all reads the stream from its horizon.
func (f feed) all() ([]streams.Record, error) {
	its, err := f.iterators(streams.ShardIteratorTypeTrimHorizon, "")
	if err != nil {
		return nil, err
	}
	return f.drain(its, 1000)
}

func checkStreamOfTable(ctx context.Context, b Backend) error {
	f, err := newFeed(ctx, b, types.StreamViewTypeKeysOnly)
	if err != nil {
		return err
	}
	list, err := b.Streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &f.table})
	if err != nil || len(list.Streams) != 1 || *list.Streams[0].StreamArn != f.arn {
		return fmt.Errorf("ListStreams answered %+v, %v, want %s", list, err, f.arn)
	}
	out, err := b.Streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn})
	if err != nil {
		return err
	}
	d := out.StreamDescription
	if d.StreamStatus != streams.StreamStatusEnabled || d.StreamViewType != streams.StreamViewTypeKeysOnly || aws.ToString(d.TableName) != f.table || len(d.Shards) == 0 {
		return fmt.Errorf("DescribeStream answered %+v", d)
	}
	for _, sh := range d.Shards {
		if sh.SequenceNumberRange == nil || sh.SequenceNumberRange.StartingSequenceNumber == nil || sh.SequenceNumberRange.EndingSequenceNumber != nil {
			return fmt.Errorf("open shard %+v has range %+v", sh, sh.SequenceNumberRange)
		}
	}
	return nil
}

func checkRecords(ctx context.Context, b Backend) error {
	for view, want := range map[types.StreamViewType][2]bool{
		types.StreamViewTypeKeysOnly: {}, types.StreamViewTypeNewImage: {true, false}, types.StreamViewTypeOldImage: {false, true}, types.StreamViewTypeNewAndOldImages: {true, true},
	} {
		f, err := newFeed(ctx, b, view)
		if err != nil {
			return err
		}
		err = steps(
			func() error { return f.put("x", "1") },
			func() error { return f.put("x", "2") },
			func() error {
				_, err := b.Tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &f.table, Key: Item{"h": str("x")}})
				return err
			},
		)
		if err != nil {
			return err
		}
		got, err := f.all()
		if err != nil {
			return err
		}
		events := []streams.OperationType{streams.OperationTypeInsert, streams.OperationTypeModify, streams.OperationTypeRemove}
		if len(got) != len(events) {
			return fmt.Errorf("%s: %d records, want %d", view, len(got), len(events))
		}
		last := new(big.Int)
		for i, r := range got {
			n, ok := new(big.Int).SetString(aws.ToString(r.Dynamodb.SequenceNumber), 10)
			if !ok || n.Cmp(last) <= 0 {
				return fmt.Errorf("%s: number %q does not follow %v", view, aws.ToString(r.Dynamodb.SequenceNumber), last)
			}
			last = n
			if r.EventName != events[i] {
				return fmt.Errorf("%s: record %d is a %s, want %s", view, i, r.EventName, events[i])
			}
			if h, ok := r.Dynamodb.Keys["h"].(*streams.AttributeValueMemberS); !ok || h.Value != "x" || len(r.Dynamodb.Keys) != 1 {
				return fmt.Errorf("%s: record %d has keys %v", view, i, r.Dynamodb.Keys)
			}
			if (len(r.Dynamodb.NewImage) > 0) != (want[0] && i != 2) || (len(r.Dynamodb.OldImage) > 0) != (want[1] && i != 0) {
				return fmt.Errorf("%s: %s has new image %v, old image %v", view, events[i], r.Dynamodb.NewImage != nil, r.Dynamodb.OldImage != nil)
			}
			if at := r.Dynamodb.ApproximateCreationDateTime; at == nil || at.Nanosecond() != 0 {
				return fmt.Errorf("%s: creation time %v, want whole seconds", view, at)
			}
		}
	}
	return nil
}

func checkNoChange(ctx context.Context, b Backend) error {
	f, err := newFeed(ctx, b, types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	for _, amount := range []string{"1", "1", "1.0", "2"} {
		if err := f.put("x", amount); err != nil {
			return err
		}
	}
	_, err = b.Tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &f.table, Key: Item{"h": str("not there")}})
	if err != nil {
		return err
	}
	got, err := f.all()
	if err == nil && len(got) != 2 {
		err = fmt.Errorf("%d records of two changes and three writes that change nothing", len(got))
	}
	return err
}

func checkIterators(ctx context.Context, b Backend) error {
	f, err := newFeed(ctx, b, types.StreamViewTypeNewImage)
	if err != nil {
		return err
	}
	for _, amount := range []string{"1", "2", "3"} {
		if err := f.put("x", amount); err != nil {
			return err
		}
	}
	all, err := f.all()
	if err != nil {
		return err
	}
	if len(all) != 3 {
		return fmt.Errorf("%d records, want 3", len(all))
	}
	latest, err := f.iterators(streams.ShardIteratorTypeLatest, "")
	if err != nil {
		return err
	}
	if err := f.put("x", "4"); err != nil {
		return err
	}
	amounts := func(its []string) (out []string, err error) {
		got, err := f.drain(its, 10)
		for _, r := range got {
			if n, ok := r.Dynamodb.NewImage["amount"].(*streams.AttributeValueMemberN); ok {
				out = append(out, n.Value)
			}
		}
		return out, err
	}
	if got, err := amounts(latest); err != nil || !slices.Equal(got, []string{"4"}) {
		return fmt.Errorf("LATEST reads %q, %w, want 4", got, err)
	}
	// One key's changes are in one shard: the others refuse its numbers.
	shards, err := f.shards()
	if err != nil || len(shards) != 1 {
		return err
	}
	for typ, want := range map[streams.ShardIteratorType][]string{
		streams.ShardIteratorTypeAtSequenceNumber:    {"2", "3", "4"},
		streams.ShardIteratorTypeAfterSequenceNumber: {"3", "4"},
	} {
		its, err := f.iterators(typ, *all[1].Dynamodb.SequenceNumber)
		if err != nil {
			return err
		}
		if got, err := amounts(its); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("%s of 2 reads %q, %w, want %q", typ, got, err, want)
		}
	}
	return nil
}

func checkRecordLimit(ctx context.Context, b Backend) error {
	f, err := newFeed(ctx, b, types.StreamViewTypeKeysOnly)
	if err != nil {
		return err
	}
	for i := range 10 {
		if err := f.put("x", fmt.Sprint(i)); err != nil {
			return err
		}
	}
	its, err := f.iterators(streams.ShardIteratorTypeTrimHorizon, "")
	if err != nil {
		return err
	}
	got, err := f.drain(its, 3)
	if err == nil && len(got) != 10 {
		err = fmt.Errorf("%d records by pages of 3, want 10", len(got))
	}
	return err
}

func checkMissingStream(ctx context.Context, b Backend) error {
	f, err := newFeed(ctx, b, types.StreamViewTypeKeysOnly)
	if err != nil {
		return err
	}
	gone := f.arn[:len(f.arn)-23] + "2001-01-01T00:00:00.000"
	_, err = b.Streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &gone})
	if err := wantCode("DescribeStream", "ResourceNotFoundException", err); err != nil {
		return err
	}
	_, err = b.Streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &f.arn, ShardId: aws.String("shardId-00000000000000000000-00000000"), ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
	})
	return wantCode("GetShardIterator of a shard that is not there", "ResourceNotFoundException", err)
}
