package streamtest_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

func TestViewTypes(t *testing.T) {
	for view, want := range map[types.StreamViewType][2]bool{
		types.StreamViewTypeKeysOnly:        {false, false},
		types.StreamViewTypeNewImage:        {true, false},
		types.StreamViewTypeOldImage:        {false, true},
		types.StreamViewTypeNewAndOldImages: {true, true},
	} {
		s := streamtest.New(streamtest.Config{})
		require.NoError(t, s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: view}))
		put(t, s, 1, 1)
		put(t, s, 1, 2)
		require.Zero(t, put(t, s, 1, 2), "a write that changes nothing leaves no record")
		_, err := s.Delete("orders", order(1, 0))
		require.NoError(t, err)
		none, err := s.Delete("orders", order(1, 0))
		require.NoError(t, err)
		require.Zero(t, none)
		got, _ := drain(t, s.Streams(), iterator(t, s.Streams(), s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, ""), 10)
		require.Len(t, got, 3)
		for i, event := range []streams.OperationType{streams.OperationTypeInsert, streams.OperationTypeModify, streams.OperationTypeRemove} {
			r := got[i]
			require.Equal(t, event, r.EventName)
			require.Equal(t, streams.StreamViewType(view), r.Dynamodb.StreamViewType)
			require.Len(t, r.Dynamodb.Keys, 1)
			require.Equal(t, want[0] && event != streams.OperationTypeRemove, r.Dynamodb.NewImage != nil, "%s %s", view, event)
			require.Equal(t, want[1] && event != streams.OperationTypeInsert, r.Dynamodb.OldImage != nil, "%s %s", view, event)
			require.Nil(t, r.UserIdentity)
			require.Zero(t, r.Dynamodb.ApproximateCreationDateTime.Nanosecond())
		}
	}
}

// As text "9…" is above "10…", and the numbers of one line of shards get longer.
func TestSequenceNumbersGrowAsNumbersNotAsText(t *testing.T) {
	s := streamtest.New(streamtest.Config{Seed: 3})
	orders(t, s, 4)
	last := map[string]*big.Int{} // by shard
	parent := map[string]string{} // of a shard
	lengths := map[int]bool{}
	textual := true
	for i := range 5000 {
		if i%700 == 699 {
			require.NoError(t, s.Rotate("orders"))
		}
		c := put(t, s, i%97, i)
		if parent[c.ShardID] == "" {
			for _, sh := range s.Shards("orders") {
				parent[sh.ID] = sh.Parent
			}
		}
		n, ok := new(big.Int).SetString(c.SequenceNumber, 10)
		require.True(t, ok)
		before := last[c.ShardID]
		if before == nil {
			before = last[parent[c.ShardID]]
		}
		if before != nil {
			require.Positive(t, n.Cmp(before))
			textual = textual && strings.Compare(c.SequenceNumber, before.String()) > 0
		}
		last[c.ShardID] = n
		lengths[len(c.SequenceNumber)] = true
		require.GreaterOrEqual(t, len(c.SequenceNumber), 21)
		require.LessOrEqual(t, len(c.SequenceNumber), 40)
	}
	require.Greater(t, len(lengths), 3)
	require.False(t, textual, "comparing as text must be wrong somewhere")
}

func TestSplitAndMergeKeepEveryKeyInItsLine(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	orders(t, s, 2)
	for i := range 100 {
		put(t, s, i, 1)
	}
	parent := s.Shards("orders")[0].ID
	halves, err := s.Split("orders", parent)
	require.NoError(t, err)
	_, err = s.Split("orders", parent)
	require.Error(t, err, "closed")
	used := map[string]bool{}
	for i := range 100 {
		used[put(t, s, i, 2).ShardID] = true
	}
	require.Len(t, used, 3)
	require.True(t, used[halves[0]] && used[halves[1]])

	_, err = s.Merge("orders", halves[0], s.Shards("orders")[1].ID)
	require.Error(t, err, "no neighbours")
	merged, err := s.Merge("orders", halves[1], halves[0])
	require.NoError(t, err)
	for _, sh := range s.Shards("orders") {
		switch sh.ID {
		case halves[0], halves[1]:
			require.Equal(t, parent, sh.Parent)
			require.False(t, sh.Closed.IsZero())
		case merged:
			require.Equal(t, halves[0], sh.Parent)
		}
	}
	child, err := s.RotateShard("orders", merged)
	require.NoError(t, err)
	used = map[string]bool{}
	for i := range 100 {
		used[put(t, s, i, 3).ShardID] = true
	}
	require.Len(t, used, 2)
	require.True(t, used[child])
}

func TestDisabledStreamIsReadToItsEndAndComesBackUnderAnotherARN(t *testing.T) {
	eachWay(t, streamtest.Config{Now: fixed}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		orders(t, s, 1)
		put(t, s, 1, 1)
		first := s.StreamARN("orders")
		_, err := s.EnableStream("orders")
		require.Error(t, err, "still enabled")
		require.NoError(t, s.DisableStream("orders"))
		require.Zero(t, put(t, s, 1, 2))
		table, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
		require.NoError(t, err)
		require.Nil(t, table.Table.StreamSpecification)
		require.Equal(t, first, *table.Table.LatestStreamArn)

		d, err := shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &first})
		require.NoError(t, err)
		require.Equal(t, streams.StreamStatusDisabled, d.StreamDescription.StreamStatus)
		got, ended := drain(t, shards, iterator(t, shards, first, *d.StreamDescription.Shards[0].ShardId, streams.ShardIteratorTypeTrimHorizon, ""), 10)
		require.Len(t, got, 1)
		require.True(t, ended)

		second, err := s.EnableStream("orders")
		require.NoError(t, err)
		require.NotEqual(t, first, second)
		require.NotZero(t, put(t, s, 1, 3))
		list, err := shards.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(1)})
		require.NoError(t, err)
		require.Equal(t, first, *list.Streams[0].StreamArn)
		list, err = shards.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{ExclusiveStartStreamArn: list.LastEvaluatedStreamArn})
		require.NoError(t, err)
		require.Equal(t, second, *list.Streams[0].StreamArn)
		require.Nil(t, list.LastEvaluatedStreamArn)

		s.Advance(24 * time.Hour)
		_, err = shards.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &first})
		var missing *streams.ResourceNotFoundException
		require.ErrorAs(t, err, &missing)
	})
}

func TestGetRecordsStopsAtAMegabyte(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	require.NoError(t, s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewImage}))
	for i := range 10 {
		item := order(i, i)
		item["blob"] = str(strings.Repeat("x", 300<<10))
		_, err := s.Put("orders", item)
		require.NoError(t, err)
	}
	it := iterator(t, s.Streams(), s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, "")
	out, err := s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
	require.NoError(t, err)
	require.Len(t, out.Records, 3)
}
