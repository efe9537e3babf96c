package streamtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

func order(i, total int) streamtest.Item {
	return streamtest.Item{"id": str(fmt.Sprintf("order-%05d", i)), "total": num(total)}
}

// tableClient and streamClient are what readers ask of either client, direct or real.
type tableClient interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

type streamClient interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

var (
	_ tableClient  = (*dynamodb.Client)(nil)
	_ tableClient  = (*streamtest.Dynamo)(nil)
	_ streamClient = (*dynamodbstreams.Client)(nil)
	_ streamClient = (*streamtest.Streams)(nil)
)

// eachWay runs a test against the direct clients, the real SDK in process, and
// the real SDK over a socket.
func eachWay(t *testing.T, cfg streamtest.Config, test func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient)) {
	t.Run("direct", func(t *testing.T) {
		s := streamtest.New(cfg)
		test(t, s, s.Dynamo(), s.Streams())
	})
	t.Run("sdk", func(t *testing.T) {
		s := streamtest.New(cfg)
		test(t, s, dynamodb.NewFromConfig(s.AWSConfig()), dynamodbstreams.NewFromConfig(s.AWSConfig()))
	})
	t.Run("http", func(t *testing.T) {
		s := streamtest.New(cfg)
		srv, err := s.Serve()
		require.NoError(t, err)
		defer srv.Close()
		test(t, s, dynamodb.NewFromConfig(srv.AWSConfig()), dynamodbstreams.NewFromConfig(srv.AWSConfig()))
	})
}

func orders(t *testing.T, s *streamtest.Service, shards int) {
	t.Helper()
	require.NoError(t, s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: shards}))
}

func TestScanPagesThroughEverySegmentOnce(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		ctx := t.Context()
		orders(t, s, 1)
		for i := range 500 {
			_, err := s.Put("orders", order(i, i))
			require.NoError(t, err)
		}
		for _, segments := range []int32{1, 3, 16} {
			seen := map[string]int{}
			for segment := range segments {
				var start streamtest.Item
				for {
					out, err := tables.Scan(ctx, &dynamodb.ScanInput{
						TableName: aws.String("orders"), Segment: aws.Int32(segment), TotalSegments: aws.Int32(segments),
						Limit: aws.Int32(37), ExclusiveStartKey: start, ConsistentRead: aws.Bool(true),
						ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
					})
					require.NoError(t, err)
					require.Equal(t, int(out.Count), len(out.Items))
					require.LessOrEqual(t, len(out.Items), 37)
					require.Positive(t, *out.ConsumedCapacity.CapacityUnits)
					for _, item := range out.Items {
						seen[item["id"].(*types.AttributeValueMemberS).Value]++
					}
					if start = out.LastEvaluatedKey; start == nil {
						break
					}
				}
			}
			require.Len(t, seen, 500)
			for id, n := range seen {
				require.Equal(t, 1, n, id)
			}
		}
	})
}

// drain reads a shard from an iterator to its end, or until nothing comes.
func drain(t *testing.T, shards streamClient, it *string, limit int32) (all []streams.Record, ended bool) {
	t.Helper()
	for {
		out, err := shards.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(limit)})
		require.NoError(t, err)
		require.LessOrEqual(t, len(out.Records), int(limit))
		all = append(all, out.Records...)
		if out.NextShardIterator == nil {
			return all, true
		}
		if len(out.Records) == 0 {
			return all, false
		}
		it = out.NextShardIterator
	}
}

func iterator(t *testing.T, shards streamClient, arn, shard string, typ streams.ShardIteratorType, seq string) *string {
	t.Helper()
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: typ}
	if seq != "" {
		in.SequenceNumber = &seq
	}
	out, err := shards.GetShardIterator(t.Context(), in)
	require.NoError(t, err)
	return out.ShardIterator
}

func listShards(t *testing.T, shards streamClient, arn string) (all []streams.Shard) {
	t.Helper()
	var start *string
	for {
		out, err := shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, ExclusiveStartShardId: start})
		require.NoError(t, err)
		all = append(all, out.StreamDescription.Shards...)
		if start = out.StreamDescription.LastEvaluatedShardId; start == nil {
			return all
		}
	}
}

func TestChangesComeOutOfTheStreamInOrderAcrossRotations(t *testing.T) {
	eachWay(t, streamtest.Config{Seed: 7}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		orders(t, s, 2)
		want := map[string][]string{} // shard id → sequence numbers
		for i := range 300 {
			change, err := s.Put("orders", order(i%50, i))
			require.NoError(t, err)
			want[change.ShardID] = append(want[change.ShardID], change.SequenceNumber)
			if i%60 == 59 {
				require.NoError(t, s.Rotate("orders"))
			}
		}
		list, err := shards.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: aws.String("orders")})
		require.NoError(t, err)
		require.Len(t, list.Streams, 1)
		arn := *list.Streams[0].StreamArn
		require.Equal(t, s.StreamARN("orders"), arn)
		all := listShards(t, shards, arn)
		require.Len(t, all, 12)
		for _, sh := range all {
			got, ended := drain(t, shards, iterator(t, shards, arn, *sh.ShardId, streams.ShardIteratorTypeTrimHorizon, ""), 7)
			require.Equal(t, sh.SequenceNumberRange.EndingSequenceNumber != nil, ended)
			var numbers []string
			for _, r := range got {
				numbers = append(numbers, *r.Dynamodb.SequenceNumber)
				require.NotNil(t, r.Dynamodb.NewImage["total"])
			}
			require.Equal(t, want[*sh.ShardId], numbers)
		}
	})
}

func TestEveryAnswerCarriesTheServicesTime(t *testing.T) {
	eachWay(t, streamtest.Config{Now: fixed}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		orders(t, s, 1)
		s.Advance(72 * time.Hour)
		out, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
		require.NoError(t, err)
		at, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
		require.True(t, ok)
		require.True(t, s.Time().Truncate(time.Second).Equal(at), "%v, want %v", at, s.Time())
		require.Equal(t, s.StreamARN("orders"), *out.Table.LatestStreamArn)
	})
}
