// Command lambdaids measures what lambdaids adds to a Lambda function, and prints
// medians and ratios: see package report for the lines. An operation is one
// record, in batches of a hundred, as aws-lambda-go decoded them.
//
// The peer, handwritten, is the loop one writes with aws-lambda-go alone: no
// margin before the deadline, no recover, no ledger. Both call the same handler,
// which does the least a real one does: it writes a line of what was done, to
// which item, and when. The nothing lines have an empty handler and show the bare
// cost; added is their difference. For the ratio and for added both sides take
// turns, batch by batch.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

const (
	batch = 100
	bound = 1.2
)

func main() {
	s := report.New()
	event := load()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()

	add := func(name string, handle function) {
		s.Add(name, func(b *testing.B) {
			for n := 0; n < b.N; n += batch {
				resp, err := handle(ctx, event)
				if err != nil || len(resp.BatchItemFailures) > 0 {
					b.Fatal(resp, err)
				}
			}
		})
	}
	var w line
	add("processor", processor(w.write))
	add("handwritten", handwritten(w.write))
	add("nothing/processor", processor(nothing))
	add("nothing/handwritten", handwritten(nothing))
	s.Run()

	mine, floor := alternate(ctx, event, processor(w.write), handwritten(w.write))
	ratio := mine / floor
	fmt.Printf("ratio processor/handwritten %.2f\n", ratio)
	s.AtMost("processor/handwritten", ratio, bound)
	mine, floor = alternate(ctx, event, processor(nothing), handwritten(nothing))
	s.Value("added", (mine-floor)/batch, "ns/record")
	s.Exit()
}

type function = func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// turns is how many batches each side of a ratio handles.
const turns = 20_000

// alternate is the median time of a batch of a and of b, which take turns. A batch
// takes some ten microseconds, so that a machine that is busy with other things
// disturbs few of them, and both alike: their medians are those of a quiet one.
func alternate(ctx context.Context, e events.DynamoDBEvent, a, b function) (ma, mb float64) {
	times := [2][]time.Duration{}
	for range turns {
		for side, f := range [2]function{a, b} {
			start := time.Now()
			if resp, err := f(ctx, e); err != nil || len(resp.BatchItemFailures) > 0 {
				panic(fmt.Sprint(resp, err))
			}
			times[side] = append(times[side], time.Since(start))
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return float64(times[0][turns/2]), float64(times[1][turns/2])
}

type handler = lambdaids.Handler[events.DynamoDBEventRecord]

func nothing(context.Context, *events.DynamoDBEventRecord) error { return nil }

// line is the handler's output, kept so that the handler allocates nothing.
type line struct{ buf []byte }

func (l *line) write(_ context.Context, r *events.DynamoDBEventRecord) error {
	l.buf = append(l.buf[:0], `{"op":`...)
	l.buf = strconv.AppendQuote(l.buf, r.EventName)
	l.buf = append(l.buf, `,"id":`...)
	l.buf = strconv.AppendQuote(l.buf, r.Change.Keys["id"].String())
	qty, err := strconv.ParseInt(r.Change.NewImage["qty"].Number(), 10, 64)
	if err != nil {
		return err
	}
	l.buf = append(l.buf, `,"qty":`...)
	l.buf = strconv.AppendInt(l.buf, qty, 10)
	l.buf = append(l.buf, `,"at":"`...)
	l.buf = awsevents.DynamoDBTime(r).UTC().AppendFormat(l.buf, time.RFC3339)
	l.buf = append(l.buf, '"', '}', '\n')
	return nil
}

func processor(h handler) function {
	return awsevents.DynamoDB(h, awsevents.DynamoDBConfig{}).Handle
}

func handwritten(h handler) function {
	return func(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		resp := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
		for i := range e.Records {
			if err := h(ctx, &e.Records[i]); err != nil {
				resp.BatchItemFailures = append(resp.BatchItemFailures,
					events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[i].Change.SequenceNumber})
				break // everything behind it comes again
			}
		}
		return resp, nil
	}
}

func load() events.DynamoDBEvent {
	var e events.DynamoDBEvent
	for _, r := range esmtest.DynamoDBRecords(batch) {
		var rec events.DynamoDBEventRecord
		if err := json.Unmarshal(r.JSON, &rec); err != nil {
			panic(err)
		}
		e.Records = append(e.Records, rec)
	}
	return e
}
