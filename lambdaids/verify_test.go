package lambdaids_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

// eventOf is the event of all of recs, as the model would build it.
func eventOf(t require.TestingT, recs []esmtest.Record) []byte {
	var event []byte
	_, err := esmtest.Run(context.Background(), esmtest.Mapping{BatchSize: len(recs)}, recs, func(_ context.Context, e []byte) ([]byte, error) {
		event = e
		return nil, nil
	})
	require.NoError(t, err)
	return event
}

// The tables of the AWS documentation, "Success and failure conditions", a row
// each, and what else handlers are known to answer.
func TestL11_VerifyReadsTheDocumentedTables(t *testing.T) {
	dynamo := eventOf(t, esmtest.DynamoDBRecords(4))
	kinesis := eventOf(t, esmtest.KinesisRecords(4))
	sqs := eventOf(t, esmtest.SQSMessages(4))
	fifo := eventOf(t, esmtest.FIFOMessages(4, func(i int) string { return fmt.Sprint(i % 2) }))
	kafka := eventOf(t, esmtest.KafkaRecords(4, func(i int) int { return i % 2 })) // orders-0: 98, 99; orders-1: 98, 99
	item := func(ids ...string) string {
		var items []string
		for _, id := range ids {
			items = append(items, `{"itemIdentifier":`+id+`}`)
		}
		return `{"batchItemFailures":[` + strings.Join(items, ",") + `]}`
	}
	seq := func(i int) string { return `"` + esmtest.Sequence(i) + `"` }
	all, none := []int{0, 1, 2, 3}, []int(nil)
	for _, tc := range []struct {
		name     string
		event    []byte
		answer   string
		outcome  lambdaids.Outcome
		retried  []int
		problems string // a part of the only one; "" is none
	}{
		// Complete success, every source.
		{"empty list", dynamo, `{"batchItemFailures":[]}`, lambdaids.Succeeded, none, ""},
		{"null list", kinesis, `{"batchItemFailures":null}`, lambdaids.Succeeded, none, ""},
		{"empty response", sqs, `{}`, lambdaids.Succeeded, none, ""},
		{"null response", kafka, `null`, lambdaids.Succeeded, none, ""},
		{"no response", fifo, ``, lambdaids.Succeeded, none, ""},
		{"wrong case", dynamo, `{"BatchItemFailures":[{"itemIdentifier":` + seq(1) + `}]}`, lambdaids.Succeeded, none, "Lambda sees no failure"},
		// Complete failure.
		{"empty identifier", dynamo, item(`""`), lambdaids.WholeBatch, all, "empty"},
		{"null identifier", kinesis, item(`null`), lambdaids.WholeBatch, all, "empty"},
		{"bad key", sqs, `{"batchItemFailures":[{"itemidentifier":"m-aaaaaaaa"}]}`, lambdaids.WholeBatch, all, "no key"},
		{"invalid JSON", sqs, `{"batchItemFailures":[`, lambdaids.WholeBatch, all, "not valid JSON"},
		{"unknown message", sqs, item(`"m-zzz"`), lambdaids.WholeBatch, all, "messageId of no record"},
		{"a Kinesis number in an SQS answer", sqs, item(seq(0)), lambdaids.WholeBatch, all, "messageId of no record"},
		{"Kafka as string", kafka, item(`"orders-0@98"`), lambdaids.WholeBatch, all, "is an object"},
		{"Kafka, an old page's key", kafka, item(`{"topic-partition":"orders-0","offset":98}`), lambdaids.WholeBatch, all, `no "partition"`},
		{"Kafka, unknown partition", kafka, item(`{"partition":"orders-7","offset":98}`), lambdaids.WholeBatch, all, "no offset 98"},
		{"Kafka, unknown offset", kafka, item(`{"partition":"orders-0","offset":1}`), lambdaids.WholeBatch, all, "no offset 1"},
		{"Kafka, offset as string", kafka, item(`{"partition":"orders-0","offset":"98"}`), lambdaids.WholeBatch, all, "not a number"},
		// Partial.
		{"one number", dynamo, item(seq(2)), lambdaids.Partial, []int{2, 3}, ""},
		{"several numbers: the lowest counts", kinesis, item(seq(3), seq(1)), lambdaids.Partial, []int{1, 2, 3}, ""},
		{"several numbers: the first of all", dynamo, item(seq(2), seq(0), seq(1)), lambdaids.Partial, all, ""},
		{"two messages", sqs, item(`"m-aaaaaaab"`, `"m-aaaaaaad"`), lambdaids.Partial, []int{1, 3}, ""},
		{"a group's rest", fifo, item(`"m-aaaaaaab"`, `"m-aaaaaaad"`), lambdaids.Partial, []int{1, 3}, ""},
		{"a group's rest left out", fifo, item(`"m-aaaaaaaa"`), lambdaids.Partial, []int{0}, "behind a reported one"},
		{"Kafka", kafka, item(`{"partition":"orders-1","offset":98}`), lambdaids.Partial, []int{2}, ""},
		// Undocumented.
		{"an eventID", dynamo, item(`"aaaaaaac"`), lambdaids.Undocumented, all, "is the eventID of record 2"},
		{"a Kinesis eventID", kinesis, item(`"shardId-000000000006:` + esmtest.Sequence(1) + `"`), lambdaids.Undocumented, all, "is the eventID of record 1"},
		{"an unknown number", dynamo, item(`"17"`), lambdaids.Undocumented, all, "sequence number of no record"},
		{"a number, not a string", dynamo, item(`17`), lambdaids.Undocumented, all, "not a string"},
		{"twice", sqs, item(`"m-aaaaaaab"`, `"m-aaaaaaab"`), lambdaids.Undocumented, all, "twice"},
		{"not a list", dynamo, `{"batchItemFailures":{}}`, lambdaids.Undocumented, all, "not a list"},
		{"not an object", dynamo, `[]`, lambdaids.Undocumented, all, "not a JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := lambdaids.Verify(tc.event, []byte(tc.answer))
			require.NoError(t, err)
			require.Equal(t, tc.outcome, v.Outcome, "%v", v)
			require.ElementsMatch(t, tc.retried, v.Retried)
			if tc.problems == "" {
				require.NoError(t, v.Err())
			} else {
				require.Len(t, v.Problems, 1)
				require.ErrorContains(t, v.Err(), tc.problems)
				require.ErrorContains(t, v.Err(), "ReportBatchItemFailures")
			}
		})
	}
}

// Each item stands in the verdict as it was answered, with what Lambda makes of it.
func TestL11_VerifyShowsEachItem(t *testing.T) {
	samples := map[lambdaids.Kind][]byte{
		lambdaids.DynamoDBStreams: eventOf(t, esmtest.DynamoDBRecords(2)),
		lambdaids.KinesisStreams:  eventOf(t, esmtest.KinesisRecords(2)),
		lambdaids.SQSStandard:     eventOf(t, esmtest.SQSMessages(2)),
		lambdaids.SQSFIFOQueue:    eventOf(t, esmtest.FIFOMessages(2, func(int) string { return "g" })),
		lambdaids.KafkaTopics:     eventOf(t, esmtest.KafkaRecords(2, func(int) int { return 0 })),
	}
	const whole = ": the whole batch is retried"
	for _, tc := range []struct {
		kind lambdaids.Kind
		item string
		want lambdaids.VerifiedItem
	}{
		{lambdaids.SQSStandard, `"m-aaaaaaaa"`, lambdaids.VerifiedItem{
			Identifier: `"m-aaaaaaaa"`, Record: -1, Problem: `it is not an object with the key "itemIdentifier"` + whole,
		}},
		{lambdaids.SQSStandard, `{"itemidentifier":"m-aaaaaaaa"}`, lambdaids.VerifiedItem{
			Record: -1, Problem: `it has no key "itemIdentifier"` + whole,
		}},
		{lambdaids.SQSFIFOQueue, `{"itemIdentifier":""}`, lambdaids.VerifiedItem{
			Identifier: `""`, Record: -1, Problem: "its identifier is empty" + whole,
		}},
		{lambdaids.KinesisStreams, `{"itemIdentifier":null}`, lambdaids.VerifiedItem{
			Identifier: "null", Record: -1, Problem: "its identifier is empty" + whole,
		}},
		{lambdaids.DynamoDBStreams, `{"itemIdentifier":17}`, lambdaids.VerifiedItem{
			Identifier: "17", Record: -1, Problem: "its identifier is not a string",
		}},
		{lambdaids.DynamoDBStreams, `{"itemIdentifier":"17"}`, lambdaids.VerifiedItem{
			Identifier: "17", Record: -1, Problem: `"17" is the sequence number of no record of the event`,
		}},
		{lambdaids.SQSStandard, `{"itemIdentifier":"m-zzz"}`, lambdaids.VerifiedItem{
			Identifier: "m-zzz", Record: -1, Problem: `"m-zzz" is the messageId of no record of the event` + whole,
		}},
		{lambdaids.SQSStandard, `{"itemIdentifier":"m-aaaaaaab"}`, lambdaids.VerifiedItem{Identifier: "m-aaaaaaab", Record: 1}},
		{lambdaids.KafkaTopics, `{"itemIdentifier":{"partition":"orders-0","offset":99}}`, lambdaids.VerifiedItem{
			Identifier: "orders-0@99", Record: 1,
		}},
		{lambdaids.KafkaTopics, `{"itemIdentifier":{"partition":"orders-0","offset":7}}`, lambdaids.VerifiedItem{
			Identifier: "orders-0@7", Record: -1, Problem: `the event has no offset 7 in a partition "orders-0"` + whole,
		}},
	} {
		v, err := lambdaids.Verify(samples[tc.kind], []byte(`{"batchItemFailures":[`+tc.item+`]}`))
		require.NoError(t, err)
		require.Equal(t, tc.kind, v.Kind)
		require.Equal(t, []lambdaids.VerifiedItem{tc.want}, v.Items, tc.item)
		if tc.want.Problem != "" {
			require.Equal(t, []string{"item 0: " + tc.want.Problem}, v.Problems)
		}
	}
}

func TestVerifyReadsKafkaBothWays(t *testing.T) {
	event := eventOf(t, esmtest.KafkaRecords(6, func(i int) int { return i % 2 }))
	v, err := lambdaids.Verify(event, []byte(`{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":99}}]}`))
	require.NoError(t, err)
	require.Equal(t, []int{1}, v.Retried)
	require.Equal(t, []int{2}, v.Maybe, "the offset behind it, if the answer is a rewind point")
}

func TestVerifyKnowsItsEvents(t *testing.T) {
	for _, event := range []string{``, `[]`, `{}`, `{"Records":[]}`, `{"Records":[{"eventSource":"aws:s3"}]}`, `{"records":{},"eventSource":"rabbit"}`} {
		_, err := lambdaids.Verify([]byte(event), nil)
		require.ErrorIs(t, err, lambdaids.ErrUnknownEvent, event)
	}
	v, err := lambdaids.Verify([]byte(`{"eventSource":"SelfManagedKafka","records":{"t-0":[{"offset":1}]}}`), nil)
	require.NoError(t, err)
	require.Equal(t, lambdaids.KafkaTopics, v.Kind)
}

func TestVerifyWantsAWindowsState(t *testing.T) {
	event := []byte(`{"window":{},"state":{"1":282},"Records":[{"eventSource":"aws:dynamodb","eventID":"x","dynamodb":{"SequenceNumber":"111"}}]}`)
	const missing = "without state is a failed invocation"
	for answer, want := range map[string]struct {
		outcome lambdaids.Outcome
		problem string // a part of the only one; "" is none
	}{
		``:                                      {lambdaids.WholeBatch, missing},
		`null`:                                  {lambdaids.WholeBatch, missing},
		`{"batchItemFailures":[]}`:              {lambdaids.WholeBatch, missing},
		`{"batchItemFailures":[],"state":null}`: {lambdaids.WholeBatch, missing},
		`{"batchItemFailures":[],"state":{}}`:   {lambdaids.Succeeded, ""},
		`{"batchItemFailures":[{"itemIdentifier":"111"}],"state":{}}`: {lambdaids.Partial, ""},
		`{"state":"` + strings.Repeat("s", 1<<20-2) + `"}`:            {lambdaids.Succeeded, ""},
		`{"state":"` + strings.Repeat("s", 1<<20-1) + `"}`:            {lambdaids.Succeeded, "the state has 1048577 bytes: beyond 1 MB"},
	} {
		v, err := lambdaids.Verify(event, []byte(answer))
		require.NoError(t, err)
		name := answer[:min(len(answer), 60)]
		require.Equal(t, want.outcome, v.Outcome, name)
		if want.problem == "" {
			require.Empty(t, v.Problems, name)
		} else {
			require.Len(t, v.Problems, 1, name)
			require.Contains(t, v.Problems[0], want.problem, name)
		}
	}
}

// The last invocation of a window may have no records to tell its source by.
func TestVerifyKnowsAnEmptyWindow(t *testing.T) {
	for arn, kind := range map[string]lambdaids.Kind{
		"arn:aws:dynamodb:eu-west-1:123456789012:table/t/stream/2026": lambdaids.DynamoDBStreams,
		"arn:aws:kinesis:eu-west-1:123456789012:stream/s":             lambdaids.KinesisStreams,
	} {
		v, err := lambdaids.Verify(fmt.Appendf(nil, `{"window":{},"isFinalInvokeForWindow":true,"Records":[],"eventSourceARN":%q}`, arn), []byte(`{"state":{}}`))
		require.NoError(t, err)
		require.Equal(t, lambdaids.Verdict{Kind: kind, Outcome: lambdaids.Succeeded}, v)
	}
}

// A handler that reports eventIDs: what everybody writes once. The compiler
// refuses it on this package's types, Verify and the processor on strings.
func TestL1_AnEventIDIsRefused(t *testing.T) {
	// The compiler: no string converts to an identifier, nor one to another.
	ids := []reflect.Type{
		reflect.TypeFor[lambdaids.DynamoDBSequence](), reflect.TypeFor[lambdaids.KinesisSequence](),
		reflect.TypeFor[lambdaids.MessageID](), reflect.TypeFor[lambdaids.KafkaOffset](),
	}
	for _, to := range ids {
		require.False(t, reflect.TypeFor[string]().ConvertibleTo(to), "string to %v", to)
		for _, from := range ids {
			require.Equal(t, from == to, from.AssignableTo(to), "%v to %v", from, to)
		}
	}

	// Verify, on a handler made without this package.
	naive := func(_ context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: e.Records[1].EventID}}}, nil
	}
	res, err := esmtest.Run(t.Context(), esmtest.Mapping{MaxAttempts: 1}, esmtest.DynamoDBRecords(3), esmtest.JSON(naive))
	require.NoError(t, err)
	require.ErrorContains(t, res.Deliveries[0].Verdict.Err(), "is the eventID of record 1")

	// The processor, on a source whose func gives the eventID.
	wrong := lambdaids.DynamoDB(func(r *events.DynamoDBEventRecord) string { return r.EventID })
	p := lambdaids.New(wrong, func(context.Context, *events.DynamoDBEventRecord) error { return errPlanned },
		lambdaids.Config[events.DynamoDBEventRecord]{Logger: discard})
	_, err = p.Process(t.Context(), []events.DynamoDBEventRecord{{EventID: "f07f8ca4b0b26cb9c4e5e77e69f274ee"}})
	require.ErrorIs(t, err, lambdaids.ErrUnreportable)
	_, err = lambdaids.ParseDynamoDB("f07f8ca4b0b26cb9c4e5e77e69f274ee")
	require.ErrorIs(t, err, lambdaids.ErrNotSequence)
	_, err = lambdaids.ParseKinesis("shardId-000000000006:49590338271490256608559692538361571095921575989136588898")
	require.ErrorIs(t, err, lambdaids.ErrNotSequence)
}

// The events that aws-lambda-go tests itself with: each adapter decodes them, and
// what it answers when everything fails resolves.
func TestRealEvents(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	require.NoError(t, err)
	for file, invoke := range map[string]esmtest.Invoke{
		"dynamodb-event.json": esmtest.JSON(awsevents.DynamoDB(failAll[events.DynamoDBEventRecord], awsevents.DynamoDBConfig{Logger: discard}).Handle),
		"kinesis-event.json":  esmtest.JSON(awsevents.Kinesis(failAll[events.KinesisEventRecord], awsevents.KinesisConfig{Logger: discard}).Handle),
		"sqs-event.json":      esmtest.JSON(awsevents.SQS(failAll[events.SQSMessage], awsevents.SQSConfig{Logger: discard}).Handle),
		"kafka-event.json":    esmtest.JSON(awsevents.Kafka(failAll[awsevents.KafkaRecord], awsevents.KafkaConfig{Logger: discard}).Handle),
	} {
		event, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "events", "testdata", file))
		require.NoError(t, err)
		answer, err := invoke(t.Context(), event)
		require.NoError(t, err)
		v, err := lambdaids.Verify(event, answer)
		require.NoError(t, err)
		require.NoError(t, v.Err(), file)
		require.Len(t, v.Retried, v.Records, file)
		require.NotEmpty(t, v.Items, file)
	}
}

func failAll[R any](context.Context, *R) error { return errPlanned }

func FuzzL11_VerifyNeverPanics(f *testing.F) {
	f.Add([]byte(`{"Records":[{"eventSource":"aws:sqs","messageId":"a"}]}`), []byte(`{"batchItemFailures":[{"itemIdentifier":"a"}]}`))
	f.Add([]byte(`{"eventSource":"aws:kafka","records":{"t-0":[{"offset":3}]}}`), []byte(`{"batchItemFailures":[{"itemIdentifier":{"partition":"t-0","offset":3}}]}`))
	f.Add([]byte(`{"window":1,"Records":[]}`), []byte(`{"state":{}}`))
	f.Fuzz(func(t *testing.T, event, answer []byte) {
		v, err := lambdaids.Verify(event, answer)
		if err != nil {
			return
		}
		for _, i := range append(v.Retried, v.Maybe...) {
			if i < 0 || i >= v.Records {
				t.Fatalf("record %d of %d comes again", i, v.Records)
			}
		}
		if v.Outcome == lambdaids.Succeeded && len(v.Retried) > 0 {
			t.Fatalf("%v retries", v)
		}
	})
}
