package awsevents

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids"
)

type (
	// DynamoDBConfig sets up DynamoDB.
	DynamoDBConfig = lambdaids.Config[events.DynamoDBEventRecord]
	// KinesisConfig sets up Kinesis.
	KinesisConfig = lambdaids.Config[events.KinesisEventRecord]
)

// DynamoDBHandler handles the events of DynamoDB streams.
type DynamoDBHandler struct {
	p *lambdaids.Processor[events.DynamoDBEventRecord, lambdaids.DynamoDBSequence]
}

// DynamoDBSource identifies records by dynamodb.SequenceNumber.
func DynamoDBSource() lambdaids.Source[events.DynamoDBEventRecord, lambdaids.DynamoDBSequence] {
	return lambdaids.DynamoDB(func(r *events.DynamoDBEventRecord) string { return r.Change.SequenceNumber })
}

// DynamoDB runs handle over the records of DynamoDB stream events:
//
//	lambda.Start(awsevents.DynamoDB(handle, awsevents.DynamoDBConfig{}).Handle)
func DynamoDB(handle lambdaids.Handler[events.DynamoDBEventRecord], cfg DynamoDBConfig) *DynamoDBHandler {
	return &DynamoDBHandler{lambdaids.New(DynamoDBSource(), handle, cfg)}
}

// Handle processes one event. The error, if any, is a *lambdaids.BatchError.
func (h *DynamoDBHandler) Handle(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	resp, err := h.p.Process(ctx, e.Records)
	out := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	for i := range resp.Len() {
		out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: resp.At(i).String()})
	}
	return out, err
}

// Stats reports the counters.
func (h *DynamoDBHandler) Stats() lambdaids.Stats { return h.p.Stats() }

// DynamoDBKey is what a change is recognised by when it comes again: its eventID.
// It identifies duplicates; it never goes into an answer.
func DynamoDBKey(r *events.DynamoDBEventRecord) string { return r.EventID }

// DynamoDBTime is when the change was made, in whole seconds.
func DynamoDBTime(r *events.DynamoDBEventRecord) time.Time {
	return r.Change.ApproximateCreationDateTime.Time
}

// KinesisHandler handles the events of Kinesis data streams.
type KinesisHandler struct {
	p *lambdaids.Processor[events.KinesisEventRecord, lambdaids.KinesisSequence]
}

// KinesisSource identifies records by kinesis.sequenceNumber.
func KinesisSource() lambdaids.Source[events.KinesisEventRecord, lambdaids.KinesisSequence] {
	return lambdaids.Kinesis(func(r *events.KinesisEventRecord) string { return r.Kinesis.SequenceNumber })
}

// Kinesis runs handle over the records of Kinesis events. Records that a producer
// aggregated (KPL) are left as they are: handle gets the aggregate, and its
// success or failure is that of all in it, since only the whole has a sequence
// number.
func Kinesis(handle lambdaids.Handler[events.KinesisEventRecord], cfg KinesisConfig) *KinesisHandler {
	return &KinesisHandler{lambdaids.New(KinesisSource(), handle, cfg)}
}

// Handle processes one event. The error, if any, is a *lambdaids.BatchError.
func (h *KinesisHandler) Handle(ctx context.Context, e events.KinesisEvent) (events.KinesisEventResponse, error) {
	resp, err := h.p.Process(ctx, e.Records)
	out := events.KinesisEventResponse{BatchItemFailures: []events.KinesisBatchItemFailure{}}
	for i := range resp.Len() {
		out.BatchItemFailures = append(out.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: resp.At(i).String()})
	}
	return out, err
}

// Stats reports the counters.
func (h *KinesisHandler) Stats() lambdaids.Stats { return h.p.Stats() }

// KinesisKey is what a record is recognised by when it comes again: shard and
// sequence number, which its eventID joins ("shardId-…:…"). It identifies
// duplicates; it never goes into an answer.
func KinesisKey(r *events.KinesisEventRecord) string { return r.EventID }

// KinesisTime is when the stream took the record.
func KinesisTime(r *events.KinesisEventRecord) time.Time {
	return r.Kinesis.ApproximateArrivalTimestamp.Time
}

// KinesisData is the record's data, decoded from base64; aggregated records
// (KPL) stay aggregated.
func KinesisData(r *events.KinesisEventRecord) []byte { return r.Kinesis.Data }
