package streamtest_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// every operation on a table with one item, which each call finds as the last
// one left it.
func every(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) map[string]func() (any, error) {
	orders(t, s, 1)
	put(t, s, 1, 7)
	arn, shard := s.StreamARN("orders"), s.Shards("orders")[0].ID
	it := iterator(t, shards, arn, shard, streams.ShardIteratorTypeTrimHorizon, "")
	ctx, name, key := t.Context(), aws.String("orders"), streamtest.Item{"id": str("order-00001")}
	return map[string]func() (any, error){
		"DescribeTable": func() (any, error) {
			return tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
		},
		"Scan": func() (any, error) { return tables.Scan(ctx, &dynamodb.ScanInput{TableName: name}) },
		"Query": func() (any, error) {
			return tables.Query(ctx, &dynamodb.QueryInput{
				TableName: name, KeyConditionExpression: aws.String("id = :id"),
				ExpressionAttributeValues: streamtest.Item{":id": key["id"]},
			})
		},
		"GetItem": func() (any, error) {
			return tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key})
		},
		"PutItem": func() (any, error) {
			return tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: order(1, 7), ReturnValues: "ALL_OLD"})
		},
		"UpdateItem": func() (any, error) {
			return tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: name, Key: key, UpdateExpression: aws.String("SET #t = :n"), ExpressionAttributeNames: map[string]string{"#t": "total"},
				ExpressionAttributeValues: streamtest.Item{":n": num(7)}, ReturnValues: "ALL_NEW",
			})
		},
		"ListStreams": func() (any, error) { return shards.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{}) },
		"DescribeStream": func() (any, error) {
			return shards.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		},
		"GetShardIterator": func() (any, error) {
			return shards.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &arn, ShardId: &shard, ShardIteratorType: streams.ShardIteratorTypeLatest,
			})
		},
		"GetRecords": func() (any, error) {
			return shards.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it})
		},
	}
}

// strip takes the metadata off an output.
func strip(out any) middleware.Metadata {
	v := reflect.ValueOf(out).Elem().FieldByName("ResultMetadata")
	m := v.Interface().(middleware.Metadata)
	v.SetZero()
	return m
}

// The SDK takes no body for one without a field in it: that it is one of success is
// all that is left. The direct clients do as it does.
func TestEmptiedAnswersHaveNoFieldAndNoError(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		for operation, call := range every(t, s, tables, shards) {
			s.FailNext(operation, streamtest.Emptied, 1)
			out, err := call()
			require.NoError(t, err, operation)
			meta := strip(out)
			require.True(t, reflect.ValueOf(out).Elem().IsZero(), "%s: %+v", operation, out)
			require.NotNil(t, awsmiddleware.GetRawResponse(meta), "%s: it was answered", operation)
			_, dated := awsmiddleware.GetServerTime(meta)
			require.True(t, dated, operation)
			c := s.Calls()[operation]
			require.Equal(t, 1, c.Faults, operation)
			require.Equal(t, 1, c.Failed, operation)

			out, err = call()
			require.NoError(t, err, operation)
			require.NotNil(t, awsmiddleware.GetRawResponse(strip(out)), operation)
			require.False(t, reflect.ValueOf(out).Elem().IsZero(), "%s: once only", operation)
		}
	})
}

func TestTornAnswersCannotBeRead(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, shards streamClient) {
		for operation, call := range every(t, s, tables, shards) {
			s.FailNext(operation, streamtest.Torn, 1)
			before := s.Calls()[operation].Calls
			_, err := call()
			var unread *smithy.DeserializationError
			require.ErrorAs(t, err, &unread, operation)
			var answered interface{ HTTPStatusCode() int }
			require.ErrorAs(t, err, &answered, operation)
			require.Equal(t, http.StatusOK, answered.HTTPStatusCode(), operation)
			var failed *smithy.OperationError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, operation, failed.OperationName)
			require.Equal(t, before+1, s.Calls()[operation].Calls, "the SDK does not repeat it")
			_, err = call()
			require.NoError(t, err, operation)
		}
	})
}

// The work is done, whatever arrives; and what is refused says so.
func TestMaimedAnswersAreWorkDone(t *testing.T) {
	eachWay(t, streamtest.Config{}, func(t *testing.T, s *streamtest.Service, tables tableClient, _ streamClient) {
		orders(t, s, 1)
		write := func(i int) error {
			_, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: aws.String("orders"), Item: order(i, 1), ConditionExpression: aws.String("attribute_not_exists(id)"),
			})
			return err
		}
		for i, f := range []streamtest.Fault{streamtest.Emptied, streamtest.Torn} {
			s.FailNext("PutItem", f, 2)
			require.Equal(t, f == streamtest.Torn, write(i) != nil, "%v", f)
			require.Len(t, s.Items("orders"), i+1)
			require.Equal(t, "ConditionalCheckFailedException", code(write(i)))
		}
	})
}

func TestMaimedAnswersOnTheWire(t *testing.T) {
	s, send := onWire(t)
	scan := func() (*http.Response, string) {
		resp, body := send(http.MethodPost, "DynamoDB_20120810.Scan", `{"TableName":"orders"}`)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		return resp, string(body)
	}
	answer, whole := scan()
	require.NotEmpty(t, answer.Header.Get("X-Amz-Crc32"))
	for f, left := range map[streamtest.Fault]int{streamtest.Emptied: 0, streamtest.Torn: len(whole) / 2} {
		s.FailNext("Scan", f, 1)
		answer, got := scan()
		require.Len(t, got, left, "%v", f)
		require.False(t, json.Valid([]byte(got)), "%v", f)
		require.EqualValues(t, left, answer.ContentLength, "%v", f)
		require.Empty(t, answer.Header.Get("X-Amz-Crc32"), "%v", f)
	}
	_, got := scan()
	require.JSONEq(t, whole, got)
}
