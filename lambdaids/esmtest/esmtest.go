package esmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ackgate/ackgate/lambdaids"
)

// ErrStuck is returned by Run when Mapping.MaxInvocations did not suffice.
var ErrStuck = errors.New("esmtest: the handler never gets on: the same records come again and again")

// Invoke is a handler as Lambda sees it.
type Invoke func(ctx context.Context, event []byte) ([]byte, error)

// JSON makes an Invoke of a typed handler.
func JSON[E, A any](handle func(context.Context, E) (A, error)) Invoke {
	return func(ctx context.Context, event []byte) ([]byte, error) {
		var e E
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, fmt.Errorf("esmtest: the handler's event type: %w", err)
		}
		a, err := handle(ctx, e)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// Record is one record as it stands in an event.
type Record struct {
	JSON      json.RawMessage
	Partition string // Kafka: the key of the records map; empty elsewhere
}

// Mapping is how the event source mapping is set up. The zero value is ready.
type Mapping struct {
	// IgnoreAnswers is a mapping without ReportBatchItemFailures.
	IgnoreAnswers bool
	// BatchSize is the most records of an invocation. Default 10.
	BatchSize int
	// Bisect splits a failed batch of a stream or of Kafka in two.
	Bisect bool
	// MaxAttempts is how often a batch (a message on SQS) is delivered before it
	// goes to the dead letters. Default 0: without end.
	MaxAttempts int
	// KafkaRewinds reads Kafka's answers as rewind points, not as a set.
	KafkaRewinds bool
	// LoseUndocumented takes an undocumented answer for a success, not for a
	// failure of the batch.
	LoseUndocumented bool
	// Window makes all records those of one tumbling window, of a stream.
	Window bool
	// EventSource of Kafka events. Default "aws:kafka".
	EventSource string
	// MaxInvocations bounds a Run. Default 10,000.
	MaxInvocations int
}

// Delivery is one invocation.
type Delivery struct {
	Records []int // numbered as given to Run, in the event's order
	Answer  []byte
	Err     error // the function's error or panic
	Verdict lambdaids.Verdict
}

// Result is what a Run did.
type Result struct {
	Deliveries  []Delivery
	Consumed    []bool // by record: an answer settled it
	DeadLetters []int  // records whose attempts were used up
	State       json.RawMessage
}

// Attempts is how often a record was delivered.
func (r Result) Attempts(record int) int {
	n := 0
	for _, d := range r.Deliveries {
		for _, i := range d.Records {
			if i == record {
				n++
			}
		}
	}
	return n
}

// Problems are everything that was wrong with the answers.
func (r Result) Problems() []string {
	var all []string
	for i, d := range r.Deliveries {
		for _, p := range d.Verdict.Problems {
			all = append(all, fmt.Sprintf("invocation %d: %s", i, p))
		}
	}
	return all
}

// Run delivers records until each is consumed or dead-lettered. They are those of
// one shard, queue or topic, in order; their own JSON says of which kind.
func Run(ctx context.Context, m Mapping, records []Record, handle Invoke) (Result, error) {
	if m.BatchSize <= 0 {
		m.BatchSize = 10
	}
	if m.MaxInvocations <= 0 {
		m.MaxInvocations = 10_000
	}
	if m.EventSource == "" {
		m.EventSource = "aws:kafka"
	}
	r := &run{m: m, recs: records, handle: handle, ids: make([]string, len(records)), groups: make([]string, len(records))}
	r.Consumed = make([]bool, len(records))
	r.State = json.RawMessage(`{}`)
	if len(records) == 0 {
		return r.Result, nil
	}
	if err := r.identify(); err != nil {
		return r.Result, err
	}
	var err error
	switch r.kind {
	case lambdaids.SQSStandard, lambdaids.SQSFIFOQueue:
		err = r.queue(ctx)
	default:
		err = r.stream(ctx)
	}
	return r.Result, err
}
