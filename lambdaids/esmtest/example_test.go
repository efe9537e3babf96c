package esmtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

// A handler made without any library: it reports the eventID.
func Example() {
	handle := func(_ context.Context, e events.DynamoDBEvent) (r events.DynamoDBEventResponse, err error) {
		for _, rec := range e.Records {
			if rec.Change.Keys["id"].String() == "1" {
				r.BatchItemFailures = append(r.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: rec.EventID})
			}
		}
		return r, nil
	}
	res, err := esmtest.Run(context.Background(), esmtest.Mapping{MaxInvocations: 3}, esmtest.DynamoDBRecords(3), esmtest.JSON(handle))
	fmt.Println(errors.Is(err, esmtest.ErrStuck))
	fmt.Println(res.Problems()[0])
	// Output:
	// true
	// invocation 0: item 0: "aaaaaaab" is the eventID of record 1, not its sequence number, which is "99999999999999999999996"
}
