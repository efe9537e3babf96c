package streamtest_test

import (
	"context"
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

// A day and a half of a quiet table, in no time: shards rotate every four
// hours and leave a day after they closed.
func TestShardsRotateAndAgeByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{RotateEvery: streamtest.RotationInterval})
		orders(t, s, 3)
		begin := time.Now()
		time.Sleep(36*time.Hour + time.Minute)
		all := s.Shards("orders")
		// Nine rotations; a shard closed 24 hours ago or longer is gone.
		require.Len(t, all, 3*7)
		for _, sh := range all {
			require.NotEmpty(t, sh.Parent)
			require.Zero(t, sh.Opened.Sub(begin)%streamtest.RotationInterval, "rotated on the hour, not when asked")
			if !sh.Closed.IsZero() {
				require.Equal(t, streamtest.RotationInterval, sh.Closed.Sub(sh.Opened))
			}
		}
	})
}

func TestRotationsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{RotateEvery: streamtest.RotationInterval, RotateSpread: time.Hour})
		orders(t, s, 20)
		time.Sleep(5 * time.Hour)
		moments := map[time.Time]bool{}
		for _, sh := range s.Shards("orders")[:20] {
			require.False(t, sh.Closed.IsZero())
			require.LessOrEqual(t, sh.Closed.Sub(sh.Opened), 4*time.Hour)
			require.Greater(t, sh.Closed.Sub(sh.Opened), 3*time.Hour)
			moments[sh.Closed] = true
		}
		require.Greater(t, len(moments), 15)

		// Days later shards have aged out all over the list, not from its front.
		time.Sleep(100 * time.Hour)
		var ids, listed []string
		for _, sh := range s.Shards("orders") {
			require.True(t, sh.Closed.IsZero() || time.Since(sh.Closed) < 24*time.Hour)
			ids = append(ids, sh.ID)
		}
		require.Greater(t, len(ids), 20*7)
		for _, sh := range listShards(t, s.Streams(), s.StreamARN("orders")) {
			listed = append(listed, *sh.ShardId)
		}
		require.Equal(t, ids, listed)
	})
}

// The whole SDK, retries included, in virtual time and without a socket.
func TestRealClientsRunInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{})
		orders(t, s, 1)
		put(t, s, 1, 1)
		s.FailNext("GetRecords", streamtest.Internal, 1)
		s.FailNext("GetRecords", streamtest.Cut, 1)
		shards := dynamodbstreams.NewFromConfig(s.AWSConfig())
		begin := time.Now()
		got, _ := drain(t, shards, iterator(t, shards, s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, ""), 10)
		require.Len(t, got, 1)
		require.Positive(t, time.Since(begin), "the SDK backed off")
		c := s.Calls()["GetRecords"]
		require.Equal(t, 4, c.Calls)
		require.Equal(t, 2, c.Faults)
		require.Equal(t, 2, c.Failed)
	})
}

func TestIteratorsExpireInTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{})
		orders(t, s, 1)
		shards := s.Streams()
		it := iterator(t, shards, s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeLatest, "")
		for range 10 { // each answer's iterator is a new one
			time.Sleep(14 * time.Minute)
			out, err := shards.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
			require.NoError(t, err)
			it = out.NextShardIterator
		}
		time.Sleep(15*time.Minute + 1)
		_, err := shards.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
		var expired *streams.ExpiredIteratorException
		require.ErrorAs(t, err, &expired)
	})
}

func TestItemsExpireByTheServicesHand(t *testing.T) {
	eachWay(t, streamtest.Config{Now: fixed, TTLDelay: time.Hour}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		require.NoError(t, s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewAndOldImages, TTL: "until"}))
		expiring := func(i int, in time.Duration) streamtest.Item {
			item := order(i, i)
			item["until"] = num(int(s.Time().Add(in).Unix()))
			return item
		}
		for _, item := range []streamtest.Item{expiring(1, time.Minute), expiring(2, time.Minute), expiring(3, 9*time.Hour), order(4, 4)} {
			_, err := s.Put("orders", item)
			require.NoError(t, err)
		}
		_, err := s.Put("orders", expiring(2, 9*time.Hour)) // given more time
		require.NoError(t, err)
		s.Advance(59 * time.Minute)
		require.Len(t, s.Items("orders"), 4)
		s.Advance(3 * time.Hour)
		out, err := tables.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("orders")})
		require.NoError(t, err)
		require.Len(t, out.Items, 3)

		got, _ := drain(t, shards, iterator(t, shards, s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, ""), 100)
		removal := got[len(got)-1]
		require.Equal(t, streams.OperationTypeRemove, removal.EventName)
		require.Equal(t, "dynamodb.amazonaws.com", *removal.UserIdentity.PrincipalId)
		require.Equal(t, "Service", *removal.UserIdentity.Type)
		require.Equal(t, "order-00001", removal.Dynamodb.Keys["id"].(*streams.AttributeValueMemberS).Value)
		require.Equal(t, fixed().Add(61*time.Minute).Unix(), removal.Dynamodb.ApproximateCreationDateTime.Unix(), "when it was due, not when it was noticed")
	})
}

func TestLatencyAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{Latency: 30 * time.Millisecond, CreateDelay: time.Minute})
		begin := time.Now()
		createCheckpoints(t, s.Dynamo())
		require.Equal(t, 30*time.Millisecond, time.Since(begin))
		status := func() types.TableStatus {
			out, err := s.Dynamo().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("checkpoints")})
			require.NoError(t, err)
			return out.Table.TableStatus
		}
		require.Equal(t, types.TableStatusCreating, status())
		_, err := s.Dynamo().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("checkpoints"), Key: row("p", "x")})
		var missing *types.ResourceNotFoundException
		require.ErrorAs(t, err, &missing)
		time.Sleep(time.Minute)
		require.Equal(t, types.TableStatusActive, status())

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		begin = time.Now()
		_, err = s.Dynamo().Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("checkpoints")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Millisecond, time.Since(begin))
	})
}

// What DescribeStream documents as eventual consistency: children before their
// parents, parents missing or still open, and in the end the truth.
func TestInconsistentListingsConverge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{
			Seed: 11, Limits: streamtest.Limits{DescribeStream: -1},
			Inconsistency: streamtest.Inconsistency{Window: 10 * time.Second, Chance: 0.5, EmptyPages: 0.3},
		})
		orders(t, s, 150)
		time.Sleep(time.Hour)
		require.NoError(t, s.Rotate("orders"))
		arn := s.StreamARN("orders")
		var orphan, stillOpen, absent, emptyPage bool
		for range 9 {
			var start *string
			listed, parents := map[string]streams.Shard{}, 0
			for {
				out, err := s.Streams().DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, ExclusiveStartShardId: start})
				require.NoError(t, err)
				for _, sh := range out.StreamDescription.Shards {
					listed[*sh.ShardId] = sh
				}
				emptyPage = emptyPage || len(out.StreamDescription.Shards) == 0 && out.StreamDescription.LastEvaluatedShardId != nil
				if start = out.StreamDescription.LastEvaluatedShardId; start == nil {
					break
				}
			}
			for _, sh := range listed {
				if sh.ParentShardId == nil {
					parents++
					continue
				}
				p, ok := listed[*sh.ParentShardId]
				orphan = orphan || !ok
				stillOpen = stillOpen || ok && p.SequenceNumberRange.EndingSequenceNumber == nil
			}
			absent = absent || len(listed) < 300
			time.Sleep(time.Second)
		}
		require.True(t, orphan)
		require.True(t, stillOpen)
		require.True(t, absent)
		require.True(t, emptyPage)
		time.Sleep(2 * time.Second)
		all := listShards(t, s.Streams(), arn)
		require.Len(t, all, 300)
		for _, sh := range all {
			require.Equal(t, sh.ParentShardId == nil, sh.SequenceNumberRange.EndingSequenceNumber != nil)
		}
	})
}

func TestEmptyPagesLoseNothing(t *testing.T) {
	s := streamtest.New(streamtest.Config{Seed: 2, EmptyPages: 0.5})
	orders(t, s, 1)
	for i := range 200 {
		put(t, s, i, i)
	}
	require.NoError(t, s.Rotate("orders"))
	it := iterator(t, s.Streams(), s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, "")
	empty, records := 0, 0
	for it != nil {
		out, err := s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(5)})
		require.NoError(t, err)
		if records += len(out.Records); len(out.Records) == 0 {
			empty++
		}
		it = out.NextShardIterator
	}
	require.Equal(t, 200, records)
	require.Greater(t, empty, 10)
}
