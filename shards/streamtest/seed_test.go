package streamtest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// What a seed brings is the same each time, and another's is different.
func TestSameSeedSameAnswers(t *testing.T) {
	story := func(seed uint64) string {
		var told strings.Builder
		s := streamtest.New(streamtest.Config{
			Seed: seed, Now: fixed, RotateEvery: time.Hour, RotateSpread: 10 * time.Minute, EmptyPages: 0.3,
			Inconsistency: streamtest.Inconsistency{Window: time.Hour, Chance: 0.3, EmptyPages: 0.2},
			Faults:        map[string]streamtest.FaultRates{"*": {Throttle: 0.1, Internal: 0.1, Cut: 0.1}},
		})
		orders(t, s, 3)
		for i := range 60 {
			fmt.Fprintln(&told, put(t, s, i%7, i))
			s.Advance(7 * time.Minute)
			arn := s.StreamARN("orders")
			d, err := s.Streams().DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
			if err != nil {
				fmt.Fprintln(&told, err)
				continue
			}
			for _, sh := range d.StreamDescription.Shards {
				fmt.Fprintln(&told, *sh.ShardId, aws.ToString(sh.ParentShardId), aws.ToString(sh.SequenceNumberRange.EndingSequenceNumber))
			}
		}
		return told.String()
	}
	require.Equal(t, story(1), story(1))
	require.NotEqual(t, story(1), story(2))
}

// Whatever a client sends, it gets an answer: a result, or an error of its own doing.
func FuzzRequest(f *testing.F) {
	operations := []string{
		"DynamoDB_20120810.CreateTable", "DynamoDB_20120810.DescribeTable", "DynamoDB_20120810.GetItem", "DynamoDB_20120810.PutItem", "DynamoDB_20120810.UpdateItem",
		"DynamoDB_20120810.DeleteItem", "DynamoDB_20120810.Query", "DynamoDB_20120810.Scan", "DynamoDBStreams_20120810.ListStreams",
		"DynamoDBStreams_20120810.DescribeStream", "DynamoDBStreams_20120810.GetShardIterator", "DynamoDBStreams_20120810.GetRecords", "nonsense",
	}
	f.Add(uint(0), `{"TableName":"made","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}`)
	f.Add(uint(3), `{"TableName":"orders","Item":{"id":{"S":"x"},"l":{"L":[{"M":{"b":{"B":"AQ=="}}},{"NS":["1"]},{"NULL":true}]}}}`)
	f.Add(uint(4), `{"TableName":"orders","Key":{"id":{"S":"x"}},"UpdateExpression":"SET a.b[1] = :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`)
	f.Add(uint(6), `{"TableName":"orders","KeyConditionExpression":"id = :v","ExpressionAttributeValues":{":v":{"S":"x"}},"ScanIndexForward":false}`)
	f.Add(uint(7), `{"TableName":"orders","Segment":1,"TotalSegments":3,"Limit":1,"ExclusiveStartKey":{"id":{"S":"x"}}}`)
	f.Add(uint(10), `{"StreamArn":"arn","ShardId":"x","ShardIteratorType":"AT_TIMESTAMP","Timestamp":1e300}`)
	f.Add(uint(11), `{"ShardIterator":"arn|1|MSAyIDMgNCBz","Limit":7}`)
	f.Fuzz(func(t *testing.T, op uint, body string) {
		s := streamtest.New(streamtest.Config{Now: fixed})
		orders(t, s, 2)
		put(t, s, 1, 1)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://streamtest.invalid", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("X-Amz-Target", operations[op%uint(len(operations))])
		resp, err := s.RoundTrip(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, resp.StatusCode, "%s", answer)
	})
}
