package streamtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// A checkpoint read without ConsistentRead may show the row before its last write.
func TestStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{StaleReads: 1})
		createCheckpoints(t, s.Dynamo())
		read := func(consistent bool) (int, int) {
			get, err := s.Dynamo().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("checkpoints"), Key: row("p", "x"), ConsistentRead: &consistent})
			require.NoError(t, err)
			query, err := s.Dynamo().Query(t.Context(), &dynamodb.QueryInput{
				TableName: aws.String("checkpoints"), ConsistentRead: &consistent, KeyConditionExpression: aws.String("pipeline = :p"),
				ExpressionAttributeValues: streamtest.Item{":p": str("p")},
			})
			require.NoError(t, err)
			return len(get.Item), len(query.Items)
		}
		_, err := s.Put("checkpoints", row("p", "x"))
		require.NoError(t, err)
		g, q := read(true)
		require.Equal(t, [2]int{2, 1}, [2]int{g, q})
		g, q = read(false)
		require.Equal(t, [2]int{0, 0}, [2]int{g, q})
		time.Sleep(time.Second)
		g, q = read(false)
		require.Equal(t, [2]int{2, 1}, [2]int{g, q})
	})
}

// Callers own what they get and what they gave.
func TestNothingIsShared(t *testing.T) {
	ctx := t.Context()
	s := streamtest.New(streamtest.Config{})
	orders(t, s, 1)
	table, key := aws.String("orders"), streamtest.Item{"id": order(1, 0)["id"]}
	spoil := func(what string, item streamtest.Item) {
		n, ok := item["total"].(*types.AttributeValueMemberN)
		require.True(t, ok, what)
		require.Equal(t, "1", n.Value, what)
		n.Value = "666"
	}
	mine := order(1, 1)
	_, err := s.Put("orders", mine)
	require.NoError(t, err)
	spoil("Put", mine)
	mine = order(1, 1)
	_, err = s.Dynamo().PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: mine})
	require.NoError(t, err)
	spoil("PutItem", mine)
	values := streamtest.Item{"total": num(1)}
	_, err = s.Dynamo().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: table, Key: key, UpdateExpression: aws.String("SET #t = :t"), ExpressionAttributeNames: map[string]string{"#t": "total"},
		ExpressionAttributeValues: streamtest.Item{":t": values["total"]},
	})
	require.NoError(t, err)
	spoil("UpdateItem", values)

	for range 2 { // what the first round spoils, the second would see
		got, ok := s.Get("orders", key)
		require.True(t, ok)
		spoil("Get", got)
		spoil("Items", s.Items("orders")[0])
		get, err := s.Dynamo().GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
		require.NoError(t, err)
		spoil("GetItem", get.Item)
		scan, err := s.Dynamo().Scan(ctx, &dynamodb.ScanInput{TableName: table})
		require.NoError(t, err)
		spoil("Scan", scan.Items[0])
		query, err := s.Dynamo().Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String("id = :id"), ExpressionAttributeValues: streamtest.Item{":id": key["id"]}})
		require.NoError(t, err)
		spoil("Query", query.Items[0])
		update, err := s.Dynamo().UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, ReturnValues: types.ReturnValueAllNew})
		require.NoError(t, err)
		spoil("UpdateItem's answer", update.Attributes)
		_, err = s.Dynamo().PutItem(ctx, &dynamodb.PutItemInput{
			TableName: table, Item: key, ConditionExpression: aws.String("attribute_not_exists(id)"), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		var failed *types.ConditionalCheckFailedException
		require.ErrorAs(t, err, &failed)
		spoil("the failed condition", failed.Item)
		records, _ := drain(t, s.Streams(), iterator(t, s.Streams(), s.StreamARN("orders"), s.Shards("orders")[0].ID, streams.ShardIteratorTypeTrimHorizon, ""), 9)
		require.Len(t, records, 1, "every write after the first changed nothing")
		n := records[0].Dynamodb.NewImage["total"].(*streams.AttributeValueMemberN)
		require.Equal(t, "1", n.Value)
		n.Value = "666"
	}
}
