package awsevents_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

func TestKafkaDecoding(t *testing.T) {
	var e events.KafkaEvent
	require.NoError(t, json.Unmarshal([]byte(`{
		"eventSource": "SelfManagedKafka", "bootstrapServers": "b:9092",
		"records": {
			"t-1": [{"topic": "t", "partition": 1, "offset": 9, "timestamp": 1595035749700, "timestampType": "CREATE_TIME",
			         "key": "azE=", "value": "djE=", "headers": [{"h": [118, -36]}, {"g": []}, {"h": [0]}]}],
			"t-0": [{"topic": "t", "partition": 0, "offset": 5}, {"topic": "t", "partition": 0, "offset": 6, "value": "%%%"}]
		}}`), &e))
	recs := awsevents.KafkaRecords(e)
	require.Len(t, recs, 3)
	require.Equal(t, "t-0-5", awsevents.KafkaKey(&recs[0]))
	require.Equal(t, "t-0-6", awsevents.KafkaKey(&recs[1]))
	r := &recs[2]
	require.Equal(t, "t-1", r.TopicPartition)
	key, err := r.KeyBytes()
	require.NoError(t, err)
	require.Equal(t, "k1", string(key))
	value, err := r.ValueBytes()
	require.NoError(t, err)
	require.Equal(t, "v1", string(value))
	require.Equal(t, [][]byte{{118, 220}, {0}}, r.HeaderValues("h"))
	require.Empty(t, r.HeaderValues("none"))
	require.Equal(t, time.UnixMilli(1595035749700), r.Time())
	tombstone, err := recs[0].ValueBytes()
	require.NoError(t, err)
	require.Nil(t, tombstone)
	_, err = recs[1].ValueBytes()
	require.ErrorContains(t, err, "value of t-0-6")
}

func TestSQSDecoding(t *testing.T) {
	m := &events.SQSMessage{MessageId: "id", Attributes: map[string]string{
		"SentTimestamp": "1520621625029", "ApproximateReceiveCount": "2", "MessageGroupId": "g",
	}}
	sent, err := awsevents.SQSTime(m)
	require.NoError(t, err)
	require.Equal(t, time.UnixMilli(1520621625029), sent)
	n, err := awsevents.SQSReceiveCount(m)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, "g", awsevents.SQSGroup(m))
	require.Equal(t, "id", awsevents.SQSKey(m))
	m.Attributes = nil
	_, err = awsevents.SQSTime(m)
	require.ErrorContains(t, err, "message id")
	_, err = awsevents.SQSReceiveCount(m)
	require.ErrorContains(t, err, "message id")
}

func TestStreamDecoding(t *testing.T) {
	at := time.Unix(1480642020, 0)
	d := &events.DynamoDBEventRecord{EventID: "e", Change: events.DynamoDBStreamRecord{ApproximateCreationDateTime: events.SecondsEpochTime{Time: at}}}
	require.Equal(t, "e", awsevents.DynamoDBKey(d))
	require.Equal(t, at, awsevents.DynamoDBTime(d))
	k := &events.KinesisEventRecord{EventID: "shardId-1:2", Kinesis: events.KinesisRecord{Data: []byte("x"), ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: at}}}
	require.Equal(t, "shardId-1:2", awsevents.KinesisKey(k))
	require.Equal(t, at, awsevents.KinesisTime(k))
	require.Equal(t, "x", string(awsevents.KinesisData(k)))
}

// Standard queues may carry a MessageGroupId (fair queues): order is told by the
// queue's name alone.
func TestAGroupMakesNoFIFOQueue(t *testing.T) {
	handled := 0
	h := awsevents.SQS(func(_ context.Context, m *events.SQSMessage) error {
		if handled++; m.Body == "0" {
			return errPlanned
		}
		return nil
	}, awsevents.SQSConfig{Logger: discard})
	for _, tc := range []struct {
		recs    []esmtest.Record
		handled int
		failed  int
	}{
		{esmtest.SQSMessages(4), 4, 1},
		{esmtest.FIFOMessages(4, func(int) string { return "g" }), 1, 4},
		{esmtest.FIFOMessages(4, func(int) string { return "" }), 1, 4},
	} {
		handled = 0
		var e events.SQSEvent
		for _, r := range tc.recs {
			var m events.SQSMessage
			require.NoError(t, json.Unmarshal(r.JSON, &m))
			e.Records = append(e.Records, m)
		}
		resp, err := h.Handle(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, tc.handled, handled)
		require.Len(t, resp.BatchItemFailures, tc.failed)
	}
	require.EqualValues(t, 3, h.Stats().Batches)
	require.EqualValues(t, 3, h.Stats().Failed)
}

// A success is answered with an empty list, never null.
func TestSuccessIsAnEmptyList(t *testing.T) {
	dynamo := awsevents.DynamoDB(func(context.Context, *events.DynamoDBEventRecord) error { return nil }, awsevents.DynamoDBConfig{})
	kinesis := awsevents.Kinesis(func(context.Context, *events.KinesisEventRecord) error { return nil }, awsevents.KinesisConfig{})
	sqs := awsevents.SQS(func(context.Context, *events.SQSMessage) error { return nil }, awsevents.SQSConfig{})
	kafka := awsevents.Kafka(func(context.Context, *awsevents.KafkaRecord) error { return nil }, awsevents.KafkaConfig{})
	for _, invoke := range []esmtest.Invoke{
		esmtest.JSON(dynamo.Handle), esmtest.JSON(kinesis.Handle), esmtest.JSON(sqs.Handle), esmtest.JSON(kafka.Handle),
	} {
		b, err := invoke(t.Context(), []byte(`{}`))
		require.NoError(t, err)
		require.Equal(t, `{"batchItemFailures":[]}`, string(b))
	}
	require.Equal(t, lambdaids.Stats{Batches: 1}, kinesis.Stats())
	require.Equal(t, lambdaids.Stats{Batches: 1}, dynamo.Stats().Add(lambdaids.Stats{}))
	require.EqualValues(t, 1, kafka.Stats().Batches)
}
