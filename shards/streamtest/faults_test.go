package streamtest_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// untilCalls waits for the n-th call of an operation to arrive.
func untilCalls(s *streamtest.Service, operation string, n int) {
	for s.Calls()[operation].Calls < n {
		runtime.Gosched()
	}
}

func TestFaultsReachTheCallerAsTheSDKTypesThem(t *testing.T) {
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	onceStreams := func(o *dynamodbstreams.Options) { o.RetryMaxAttempts = 1 }
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		orders(t, s, 1)
		get := func(ctx context.Context) error {
			_, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: streamtest.Item{"id": str("x")}}, once)
			return err
		}
		describe := func(ctx context.Context) error {
			_, err := shards.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(s.StreamARN("orders"))}, onceStreams)
			return err
		}
		fail := func(op string, f streamtest.Fault, call func(context.Context) error) error {
			s.FailNext(op, f, 1)
			err := call(t.Context())
			require.Error(t, err, "%s %v", op, f)
			require.NoError(t, call(t.Context()), "once only")
			return err
		}
		require.Equal(t, "ThrottlingException", code(fail("GetItem", streamtest.Throttle, get)))
		require.Equal(t, "ThrottlingException", code(fail("DescribeStream", streamtest.Throttle, describe)))
		var throughput *types.ProvisionedThroughputExceededException
		require.ErrorAs(t, fail("GetItem", streamtest.LimitExceeded, get), &throughput)
		var limit *streams.LimitExceededException
		require.ErrorAs(t, fail("DescribeStream", streamtest.LimitExceeded, describe), &limit)
		var internal *types.InternalServerError
		require.ErrorAs(t, fail("GetItem", streamtest.Internal, get), &internal)
		var internalStreams *streams.InternalServerError
		require.ErrorAs(t, fail("DescribeStream", streamtest.Internal, describe), &internalStreams)
		for _, f := range []streamtest.Fault{streamtest.Cut, streamtest.LostAnswer} {
			require.Contains(t, code(fail("GetItem", f, get)), "no API error", "%v", f)
			require.Contains(t, code(fail("DescribeStream", f, describe)), "no API error", "%v", f)
		}
		s.FailNext("GetItem", streamtest.Hang, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func(n int) {
			untilCalls(s, "GetItem", n)
			cancel()
		}(s.Calls()["GetItem"].Calls + 1)
		require.ErrorIs(t, get(ctx), context.Canceled)
	})
}

func TestALostAnswerIsWorkDone(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		orders(t, s, 1)
		write := func() error {
			_, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: aws.String("orders"), Item: order(1, 1), ConditionExpression: aws.String("attribute_not_exists(id)"),
			}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
			return err
		}
		s.FailNext("PutItem", streamtest.Cut, 1)
		require.Error(t, write())
		require.Empty(t, s.Items("orders"))
		s.FailNext("PutItem", streamtest.LostAnswer, 1)
		require.Error(t, write())
		require.Len(t, s.Items("orders"), 1)
		require.Equal(t, "ConditionalCheckFailedException", code(write()))
	})
}

func TestFaultScheduleHoldsItsShares(t *testing.T) {
	s := streamtest.New(streamtest.Config{Seed: 5, Faults: map[string]streamtest.FaultRates{
		"DescribeTable": {Throttle: 0.1, Internal: 0.2, Cut: 0.1},
		"*":             {Throttle: 1},
	}})
	orders(t, s, 1)
	seen := map[string]int{}
	for range 4000 {
		_, err := s.Dynamo().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
		switch {
		case err == nil:
			seen["ok"]++
		case code(err) == "ThrottlingException":
			seen["throttle"]++
		case code(err) == "InternalServerError":
			seen["internal"]++
		default:
			seen["cut"]++
		}
	}
	require.InDelta(t, 2400, seen["ok"], 150)
	require.InDelta(t, 400, seen["throttle"], 100)
	require.InDelta(t, 800, seen["internal"], 120)
	require.InDelta(t, 400, seen["cut"], 100)
	_, err := s.Streams().ListStreams(t.Context(), nil)
	require.Equal(t, "ThrottlingException", code(err))
	s.SetFaults(nil)
	_, err = s.Streams().ListStreams(t.Context(), nil)
	require.NoError(t, err)
	require.Panics(t, func() { s.SetFaults(map[string]streamtest.FaultRates{"*": {Cut: 0.6, Hang: 0.6}}) })
	require.Panics(t, func() { s.SetFaults(map[string]streamtest.FaultRates{"GetRecord": {Cut: 0.6}}) })
	require.Panics(t, func() { s.FailNext("GetRecord", streamtest.Cut, 1) })
	require.Panics(t, func() { streamtest.New(streamtest.Config{EmptyPages: 2}) })
}

func TestCallsAreCountedAgainstTheDocumentedRates(t *testing.T) {
	for _, enforce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := streamtest.New(streamtest.Config{Limits: streamtest.Limits{Enforce: enforce}})
			orders(t, s, 2)
			arn := s.StreamARN("orders")
			describe := func() error {
				_, err := s.Streams().DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
				return err
			}
			refused := 0
			for range 13 {
				if err := describe(); err != nil {
					require.Equal(t, "ThrottlingException", code(err))
					refused++
				}
			}
			c := s.Calls()["DescribeStream"]
			require.Equal(t, 13, c.Calls)
			require.Equal(t, 3, c.OverLimit)
			require.Equal(t, 13, c.PeakRate)
			require.Equal(t, c.Failed, refused)
			require.Equal(t, map[bool]int{false: 0, true: 3}[enforce], refused)
			time.Sleep(time.Second)
			require.NoError(t, describe(), "another second")

			// GetRecords has a rate of its own for each shard.
			for _, sh := range s.Shards("orders") {
				it := iterator(t, s.Streams(), arn, sh.ID, streams.ShardIteratorTypeLatest, "")
				for range 10 {
					_, err := s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
					require.NoError(t, err)
				}
				if enforce {
					_, err := s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
					var limit *streams.LimitExceededException
					require.ErrorAs(t, err, &limit)
				}
			}
		})
	}
}

func TestServerClosesAndServesAgain(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	orders(t, s, 1)
	for round := range 2 {
		srv, err := s.Serve()
		require.NoError(t, err)
		tables := dynamodb.NewFromConfig(srv.AWSConfig(), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		_, err = tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
		require.NoError(t, err)
		s.FailNext("DescribeTable", streamtest.Hang, 1)
		failed := make(chan error)
		go func() {
			_, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
			failed <- err
		}()
		untilCalls(s, "DescribeTable", 2*round+2)
		require.NoError(t, srv.Close())
		require.Error(t, <-failed)
	}
}
