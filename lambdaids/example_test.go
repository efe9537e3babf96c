package lambdaids_test

import (
	"context"
	"fmt"

	"github.com/ackgate/ackgate/lambdaids"
)

// Order is a record of the user's own type: lambdaids needs to know only where its
// identifier is.
type Order struct{ Number, Item string }

func ExampleNew() {
	source := lambdaids.Kinesis(func(o *Order) string { return o.Number })
	p := lambdaids.New(source, func(_ context.Context, o *Order) error {
		if o.Item == "" {
			return fmt.Errorf("order %s is empty", o.Number)
		}
		return nil
	}, lambdaids.Config[Order]{OnFailed: func(_ context.Context, _ *Order, err error) { fmt.Println(err) }})

	answer, err := p.Process(context.Background(), []Order{{"999", "tea"}, {"1000", ""}, {"1001", "rice"}})
	b, _ := answer.MarshalJSON()
	fmt.Println(string(b), err)
	fmt.Println(p.Stats().Done, "done,", p.Stats().Unprocessed, "not begun")
	// Output:
	// order 1000 is empty
	// {"batchItemFailures":[{"itemIdentifier":"1000"}]} <nil>
	// 1 done, 1 not begun
}

func ExampleVerify() {
	event := []byte(`{"Records": [
		{"eventSource": "aws:dynamodb", "eventID": "c0ffee", "dynamodb": {"SequenceNumber": "111"}},
		{"eventSource": "aws:dynamodb", "eventID": "facade", "dynamodb": {"SequenceNumber": "222"}}]}`)
	v, _ := lambdaids.Verify(event, []byte(`{"batchItemFailures":[{"itemIdentifier":"facade"}]}`))
	fmt.Println(v.Outcome)
	fmt.Println(v.Problems[0])
	v, _ = lambdaids.Verify(event, []byte(`{"batchItemFailures":[{"itemIdentifier":"222"}]}`))
	fmt.Println(v.Outcome, v.Retried, v.Err())
	// Output:
	// undocumented
	// item 0: "facade" is the eventID of record 1, not its sequence number, which is "222"
	// partial [1] <nil>
}
