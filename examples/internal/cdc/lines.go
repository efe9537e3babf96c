package cdc

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// streamLine renders one record. A stream of view KEYS_ONLY has no images.
func streamLine(shard string, r types.Record) (jsonl.Line, error) {
	line := jsonl.Line{Phase: jsonl.PhaseStream, Event: string(r.EventName), Shard: shard}
	if r.Dynamodb == nil {
		return line, fmt.Errorf("record %s of shard %s has no content", aws.ToString(r.EventID), shard)
	}
	line.SequenceNumber = aws.ToString(r.Dynamodb.SequenceNumber)
	line.Created = aws.ToTime(r.Dynamodb.ApproximateCreationDateTime).UTC()
	var err error
	if line.Keys, err = jsonl.StreamItem(r.Dynamodb.Keys); err != nil {
		return line, err
	}
	if line.New, err = jsonl.StreamItem(r.Dynamodb.NewImage); err != nil {
		return line, err
	}
	line.Old, err = jsonl.StreamItem(r.Dynamodb.OldImage)
	return line, err
}
