package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

// set is a copy of the record with another value at path.
func set(r esmtest.Record, value any, path ...string) esmtest.Record {
	var whole map[string]any
	if err := json.Unmarshal(r.JSON, &whole); err != nil {
		panic(err)
	}
	at := whole
	for _, key := range path[:len(path)-1] {
		at = at[key].(map[string]any)
	}
	at[path[len(path)-1]] = value
	b, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	return esmtest.Record{JSON: b, Partition: r.Partition}
}

const (
	good   = `{"id":"o%d","qty":%d}`
	poison = `no order`
)

func body(i, qty int) string { return fmt.Sprintf(good, i, qty) }

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// orders are six records of a source. Record 2 is out of stock until retries are
// used up; record 4 is no order at all.
func orders(source string) []esmtest.Record {
	var recs []esmtest.Record
	put := func(i int, content string) {}
	switch source {
	case "dynamodb":
		recs = esmtest.DynamoDBRecords(6)
		put = func(i int, content string) {
			qty := map[string]any{"S": "many"} // not a number: no order
			var o order
			if json.Unmarshal([]byte(content), &o) == nil {
				qty = map[string]any{"N": fmt.Sprint(o.Qty)}
			}
			recs[i] = set(recs[i], qty, "dynamodb", "NewImage", "qty")
		}
	case "kinesis", "window":
		recs = esmtest.KinesisRecords(6)
		put = func(i int, content string) { recs[i] = set(recs[i], b64(content), "kinesis", "data") }
	case "sqs":
		recs = esmtest.FIFOMessages(6, func(i int) string { return fmt.Sprint(i % 2) })
		put = func(i int, content string) { recs[i] = set(recs[i], content, "body") }
	case "kafka":
		recs = esmtest.KafkaRecords(6, func(i int) int { return i % 2 })
		put = func(i int, content string) { recs[i] = set(recs[i], b64(content), "value") }
	}
	for i := range recs {
		put(i, body(i, i))
	}
	put(2, body(2, 1000))
	put(4, poison)
	return recs
}

// Every handler as a process behind the runtime API, under a mapping that gives
// up after three tries: the orders are taken once each, the one without stock
// goes to the mapping's dead letters, the one that is none to the function's.
func TestEverySource(t *testing.T) {
	for _, source := range []string{"dynamodb", "kinesis", "sqs", "kafka"} {
		t.Run(source, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			f := start(t, source)
			res, err := esmtest.Run(ctx, esmtest.Mapping{BatchSize: 1, MaxAttempts: 3}, orders(source), f.invoke)
			require.NoError(t, err)
			require.Empty(t, res.Problems())
			require.Equal(t, []int{2}, res.DeadLetters)
			require.Equal(t, 3, res.Attempts(2))
			require.Equal(t, 1, res.Attempts(4), "what can never succeed is not retried")
			require.Eventually(t, func() bool { return f.log.count("order taken") == 4 }, 10*time.Second, 10*time.Millisecond)
			require.Equal(t, 1, f.log.count("dead letter"))
		})
	}
}

// In one batch: the answer names the failure, and what succeeded behind it and
// comes again is recognised.
func TestABatchWithAFailure(t *testing.T) {
	for _, source := range []string{"dynamodb", "kinesis", "sqs", "kafka"} {
		t.Run(source, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			f := start(t, source)
			recs := orders(source)
			first := true
			res, err := esmtest.Run(ctx, esmtest.Mapping{MaxAttempts: 3, KafkaRewinds: true}, recs, func(ctx context.Context, event []byte) ([]byte, error) {
				answer, err := f.invoke(ctx, event)
				if first && err == nil {
					first = false
					v, err := lambdaids.Verify(event, answer)
					if err != nil {
						return nil, err
					}
					if v.Outcome != lambdaids.Partial || v.Err() != nil {
						return nil, fmt.Errorf("the first answer is %s: %v", answer, v)
					}
				}
				return answer, err
			})
			require.NoError(t, err)
			require.Empty(t, res.Problems())
			require.NoError(t, res.Deliveries[0].Err)
			require.Contains(t, res.DeadLetters, 2)
			// What a stream's mapping gave up together with record 2 was never taken; the
			// rest was, once, however often it came.
			id := `"id":"o%d"`
			if source == "dynamodb" {
				id = `"id":"%d"`
			}
			for i := range recs {
				want := 0
				if i != 4 && res.Consumed[i] {
					want = 1
				}
				line := fmt.Sprintf(id, i)
				require.Eventually(t, func() bool { return f.log.count(line) >= want }, 10*time.Second, 10*time.Millisecond)
				if want == 1 {
					require.Equal(t, 1, f.log.count(line), "order %d", i)
				}
			}
		})
	}
}

func TestAWindow(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := start(t, "window")
	res, err := esmtest.Run(ctx, esmtest.Mapping{Window: true, BatchSize: 4}, orders("window"), f.invoke)
	require.NoError(t, err)
	require.Empty(t, res.Problems())
	require.JSONEq(t, `{"0":3, "1":1, "2":1005}`, string(res.State)) // by partition key i%3, without record 4
	require.Eventually(t, func() bool { return f.log.count(`"msg":"window"`) == 1 }, 10*time.Second, 10*time.Millisecond)
}

func TestUnknownSource(t *testing.T) {
	_, err := handlerFor("", nil, nil)
	require.ErrorContains(t, err, "set it to dynamodb")
}

// Without FunctionResponseTypes every answer of these handlers would be ignored.
func TestTheTemplateSetsFunctionResponseTypes(t *testing.T) {
	b, err := os.ReadFile("template.yaml")
	require.NoError(t, err)
	events := strings.Split(string(b), "StartingPosition")
	require.Len(t, events, 5, "four streams")
	require.Equal(t, 5, strings.Count(string(b), "FunctionResponseTypes: [ReportBatchItemFailures]"), "a mapping a function")
	for _, source := range []string{"dynamodb", "kinesis", "sqs", "kafka", "window"} {
		require.Contains(t, string(b), "SOURCE: "+source)
		_, err := handlerFor(source, nil, lambdaids.NewMemoryClaims(nil))
		require.NoError(t, err)
	}
}
