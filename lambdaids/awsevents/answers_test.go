package awsevents_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
)

var errRefused = errors.New("refused")

// The answers of the handlers, as JSON, name the failed record by its sequence
// number or messageId. Event ids, and the places of the records, are such that
// none of them passes for another by chance.
func TestAnswersNameTheFailedRecord(t *testing.T) {
	answered := func(t *testing.T, event string, resp any, err error, want string) {
		t.Helper()
		require.NoError(t, err)
		out, err := json.Marshal(resp)
		require.NoError(t, err)
		require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"`+want+`"}]}`, string(out))
		v, err := lambdaids.Verify([]byte(event), out)
		require.NoError(t, err)
		require.NoError(t, v.Err())
		require.Equal(t, lambdaids.Partial, v.Outcome)
	}
	t.Run("DynamoDB", func(t *testing.T) {
		const event = `{"Records":[
			{"eventID":"e-one","eventSource":"aws:dynamodb","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/t/stream/1","dynamodb":{"SequenceNumber":"99100"}},
			{"eventID":"e-two","eventSource":"aws:dynamodb","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/t/stream/1","dynamodb":{"SequenceNumber":"100200"}},
			{"eventID":"e-three","eventSource":"aws:dynamodb","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/t/stream/1","dynamodb":{"SequenceNumber":"100300"}}]}`
		var e events.DynamoDBEvent
		require.NoError(t, json.Unmarshal([]byte(event), &e))
		resp, err := awsevents.DynamoDB(func(_ context.Context, r *events.DynamoDBEventRecord) error {
			if r.EventID == "e-two" {
				return errRefused
			}
			return nil
		}, awsevents.DynamoDBConfig{}).Handle(t.Context(), e)
		answered(t, event, resp, err, "100200")
	})
	t.Run("Kinesis", func(t *testing.T) {
		const event = `{"Records":[
			{"eventID":"shardId-000000000000:9910","eventSource":"aws:kinesis","kinesis":{"sequenceNumber":"9910","data":""}},
			{"eventID":"shardId-000000000000:10020","eventSource":"aws:kinesis","kinesis":{"sequenceNumber":"10020","data":""}}]}`
		var e events.KinesisEvent
		require.NoError(t, json.Unmarshal([]byte(event), &e))
		resp, err := awsevents.Kinesis(func(_ context.Context, r *events.KinesisEventRecord) error {
			if r.Kinesis.SequenceNumber == "10020" {
				return errRefused
			}
			return nil
		}, awsevents.KinesisConfig{}).Handle(t.Context(), e)
		answered(t, event, resp, err, "10020")
	})
	t.Run("SQS", func(t *testing.T) {
		const event = `{"Records":[
			{"messageId":"m-1","receiptHandle":"r-1","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q"},
			{"messageId":"m-2","receiptHandle":"r-2","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q"}]}`
		var e events.SQSEvent
		require.NoError(t, json.Unmarshal([]byte(event), &e))
		resp, err := awsevents.SQS(func(_ context.Context, m *events.SQSMessage) error {
			if m.MessageId == "m-2" {
				return errRefused
			}
			return nil
		}, awsevents.SQSConfig{}).Handle(t.Context(), e)
		answered(t, event, resp, err, "m-2")
	})
}
