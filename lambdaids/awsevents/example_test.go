package awsevents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids/awsevents"
)

// In a function: lambda.Start(h.Handle).
func ExampleDynamoDB() {
	h := awsevents.DynamoDB(func(_ context.Context, r *events.DynamoDBEventRecord) error {
		if r.Change.Keys["id"].String() == "bad" {
			return errors.New("no stock")
		}
		return nil
	}, awsevents.DynamoDBConfig{
		OnFailed: func(_ context.Context, r *events.DynamoDBEventRecord, err error) {
			fmt.Println(r.EventID, "failed:", err)
		},
	})

	var e events.DynamoDBEvent
	for i, id := range []string{"good", "bad", "good"} {
		e.Records = append(e.Records, events.DynamoDBEventRecord{
			EventID: fmt.Sprint("event-", i),
			Change: events.DynamoDBStreamRecord{
				SequenceNumber: fmt.Sprint(998 + i),
				Keys:           map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute(id)},
			},
		})
	}
	answer, err := h.Handle(context.Background(), e)
	b, _ := json.Marshal(answer)
	fmt.Println(string(b), err)
	// Output:
	// event-1 failed: no stock
	// {"batchItemFailures":[{"itemIdentifier":"999"}]} <nil>
}
