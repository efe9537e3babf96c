package streamtest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// fixed is a clock that only Advance moves.
func fixed() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC) }

func put(t *testing.T, s *streamtest.Service, i, total int) streamtest.Change {
	t.Helper()
	c, err := s.Put("orders", order(i, total))
	require.NoError(t, err)
	return c
}

func numbers(records []streams.Record) []string {
	out := []string{}
	for _, r := range records {
		out = append(out, *r.Dynamodb.SequenceNumber)
	}
	return out
}

func TestIteratorTypes(t *testing.T) {
	eachWay(t, streamtest.Config{Now: fixed}, func(t *testing.T, s *streamtest.Service, _ tableClient, shards streamClient) {
		orders(t, s, 1)
		var seq []string
		for i := range 5 {
			seq = append(seq, put(t, s, i, i).SequenceNumber)
			s.Advance(time.Minute)
		}
		arn, shard := s.StreamARN("orders"), s.Shards("orders")[0].ID
		read := func(typ streams.ShardIteratorType, number string) []string {
			all, ended := drain(t, shards, iterator(t, shards, arn, shard, typ, number), 1000)
			require.False(t, ended)
			return numbers(all)
		}
		require.Equal(t, seq, read(streams.ShardIteratorTypeTrimHorizon, ""))
		require.Equal(t, seq[2:], read(streams.ShardIteratorTypeAtSequenceNumber, seq[2]))
		require.Equal(t, seq[3:], read(streams.ShardIteratorTypeAfterSequenceNumber, seq[2]))
		require.Empty(t, read(streams.ShardIteratorTypeAfterSequenceNumber, seq[4]))
		require.Empty(t, read(streams.ShardIteratorTypeLatest, ""))

		latest := iterator(t, shards, arn, shard, streams.ShardIteratorTypeLatest, "")
		next := put(t, s, 9, 9).SequenceNumber
		all, _ := drain(t, shards, latest, 1000)
		require.Equal(t, []string{next}, numbers(all))

		at, err := shards.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: &shard, ShardIteratorType: streams.ShardIteratorTypeAtTimestamp, Timestamp: aws.Time(fixed().Truncate(time.Second).Add(2 * time.Minute)),
		})
		require.NoError(t, err)
		all, _ = drain(t, shards, at.ShardIterator, 1000)
		require.Equal(t, append(seq[2:], next), numbers(all))

		for _, in := range []*dynamodbstreams.GetShardIteratorInput{
			{ShardIteratorType: streams.ShardIteratorTypeAfterSequenceNumber},
			{ShardIteratorType: streams.ShardIteratorTypeLatest, SequenceNumber: aws.String(seq[0])},
			{ShardIteratorType: streams.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String("12ab")},
			{ShardIteratorType: streams.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String("1")},
			{ShardIteratorType: "NEWEST"},
			{ShardIteratorType: streams.ShardIteratorTypeAtTimestamp},
			{ShardIteratorType: streams.ShardIteratorTypeAtTimestamp, Timestamp: aws.Time(s.Time().Add(time.Hour))},
		} {
			in.StreamArn, in.ShardId = &arn, &shard
			_, err := shards.GetShardIterator(t.Context(), in)
			require.Equal(t, "ValidationException", code(err), "%v", in.ShardIteratorType)
		}
		var missing *streams.ResourceNotFoundException
		_, err = shards.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: aws.String("shardId-0"), ShardIteratorType: streams.ShardIteratorTypeLatest})
		require.ErrorAs(t, err, &missing)
		_, err = shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(arn + "x")})
		require.ErrorAs(t, err, &missing)
	})
}

// The answer that ends a shard still carries records: who looks at the
// iterator first drops them.
func TestLastAnswerOfAClosedShardCarriesRecordsAndNoIterator(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, _ tableClient, shards streamClient) {
		orders(t, s, 1)
		for i := range 25 {
			put(t, s, i, i)
		}
		parent := s.Shards("orders")[0].ID
		require.NoError(t, s.Rotate("orders"))
		it := iterator(t, shards, s.StreamARN("orders"), parent, streams.ShardIteratorTypeTrimHorizon, "")
		var sizes []int
		for it != nil {
			out, err := shards.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(10)})
			require.NoError(t, err)
			sizes = append(sizes, len(out.Records))
			it = out.NextShardIterator
		}
		require.Equal(t, []int{10, 10, 5}, sizes)
	})
}

func TestClosedShardWithoutRecordsEndsAtOnce(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	orders(t, s, 1)
	require.NoError(t, s.Rotate("orders"))
	require.NoError(t, s.Rotate("orders"))
	empty := s.Shards("orders")[1]
	records, ended := drain(t, s.Streams(), iterator(t, s.Streams(), s.StreamARN("orders"), empty.ID, streams.ShardIteratorTypeTrimHorizon, ""), 10)
	require.Empty(t, records)
	require.True(t, ended)
}

func TestDescribeStreamPagesByAHundredShards(t *testing.T) {
	eachWay(t, streamtest.Config{Limits: streamtest.Limits{DescribeStream: -1}}, func(t *testing.T, s *streamtest.Service, _ tableClient, shards streamClient) {
		orders(t, s, 60)
		for range 5 {
			require.NoError(t, s.Rotate("orders"))
		}
		arn := s.StreamARN("orders")
		first, err := shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		require.NoError(t, err)
		require.Len(t, first.StreamDescription.Shards, 100)
		require.NotNil(t, first.StreamDescription.LastEvaluatedShardId)
		require.Equal(t, streams.StreamStatusEnabled, first.StreamDescription.StreamStatus)

		seen := map[string]bool{}
		for _, sh := range listShards(t, shards, arn) {
			require.False(t, seen[*sh.ShardId])
			seen[*sh.ShardId] = true
			if sh.ParentShardId != nil {
				require.True(t, seen[*sh.ParentShardId], "listed in the order they were opened")
			}
		}
		require.Len(t, seen, 360)

		children, err := shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, ShardFilter: &streams.ShardFilter{
			Type: streams.ShardFilterTypeChildShards, ShardId: first.StreamDescription.Shards[0].ShardId,
		}})
		require.NoError(t, err)
		require.Len(t, children.StreamDescription.Shards, 1)
		require.Equal(t, first.StreamDescription.Shards[0].ShardId, children.StreamDescription.Shards[0].ParentShardId)

		_, err = shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, Limit: aws.Int32(101)})
		require.Equal(t, "ValidationException", code(err))
	})
}

func TestTrimmedExpiredAndForgotten(t *testing.T) {
	eachWay(t, streamtest.Config{Now: fixed}, func(t *testing.T, s *streamtest.Service, _ tableClient, shards streamClient) {
		ctx := t.Context()
		orders(t, s, 1)
		old := put(t, s, 1, 1)
		arn, first := s.StreamARN("orders"), s.Shards("orders")[0].ID
		before := iterator(t, shards, arn, first, streams.ShardIteratorTypeTrimHorizon, "")

		s.Advance(15*time.Minute + time.Second)
		_, err := shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: before})
		var expired *streams.ExpiredIteratorException
		require.ErrorAs(t, err, &expired)

		s.Advance(20 * time.Hour)
		recent := put(t, s, 2, 2)
		require.NoError(t, s.Rotate("orders"))
		s.Advance(4 * time.Hour) // the first record ages out, the shard does not

		var trimmed *streams.TrimmedDataAccessException
		for _, typ := range []streams.ShardIteratorType{streams.ShardIteratorTypeAtSequenceNumber, streams.ShardIteratorTypeAfterSequenceNumber} {
			_, err = shards.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &first, ShardIteratorType: typ, SequenceNumber: aws.String(old.SequenceNumber)})
			require.ErrorAs(t, err, &trimmed)
		}
		rest, ended := drain(t, shards, iterator(t, shards, arn, first, streams.ShardIteratorTypeTrimHorizon, ""), 10)
		require.True(t, ended)
		require.Equal(t, []string{recent.SequenceNumber}, numbers(rest))

		// A record that ages out between the iterator and its use.
		held := iterator(t, shards, arn, first, streams.ShardIteratorTypeTrimHorizon, "")
		require.NoError(t, s.Trim("orders", 3*time.Hour+59*time.Minute)) // the shard, closed four hours ago, goes too
		var missing *streams.ResourceNotFoundException
		_, err = shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: held})
		require.ErrorAs(t, err, &missing)
		_, err = shards.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &first, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon})
		require.ErrorAs(t, err, &missing)

		only := listShards(t, shards, arn)
		require.Len(t, only, 1)
		require.Equal(t, first, *only[0].ParentShardId, "a child still names the parent that is gone")

		newest := put(t, s, 3, 3)
		held = iterator(t, shards, arn, *only[0].ShardId, streams.ShardIteratorTypeTrimHorizon, "")
		s.Advance(time.Minute)
		require.NoError(t, s.Trim("orders", 0))
		_, err = shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: held})
		require.ErrorAs(t, err, &trimmed, "what was behind %s is gone", newest.SequenceNumber)

		live := iterator(t, shards, arn, *only[0].ShardId, streams.ShardIteratorTypeTrimHorizon, "")
		s.ExpireIterators()
		_, err = shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: live})
		require.ErrorAs(t, err, &expired)
		_, err = shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("nonsense")})
		require.Equal(t, "ValidationException", code(err))
	})
}
