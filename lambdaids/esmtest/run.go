package esmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ackgate/ackgate/lambdaids"
)

type run struct {
	Result
	m           Mapping
	kind        lambdaids.Kind
	recs        []Record
	ids, groups []string
	handle      Invoke
	final       bool // the window's last invocation
}

// identify reads the records' kind and, of a queue, their message groups.
func (r *run) identify() error {
	for i, rec := range r.recs {
		var f struct {
			EventSource    string            `json:"eventSource"`
			EventSourceARN string            `json:"eventSourceARN"`
			Attributes     map[string]string `json:"attributes"`
		}
		if err := json.Unmarshal(rec.JSON, &f); err != nil {
			return fmt.Errorf("esmtest: record %d: %w", i, err)
		}
		kind := lambdaids.Kind(0)
		switch {
		case rec.Partition != "":
			kind, r.groups[i] = lambdaids.KafkaTopics, rec.Partition
		case f.EventSource == "aws:dynamodb":
			kind = lambdaids.DynamoDBStreams
		case f.EventSource == "aws:kinesis":
			kind = lambdaids.KinesisStreams
		case f.EventSource == "aws:sqs" && strings.HasSuffix(f.EventSourceARN, ".fifo"):
			kind, r.groups[i] = lambdaids.SQSFIFOQueue, f.Attributes["MessageGroupId"]
		case f.EventSource == "aws:sqs":
			kind = lambdaids.SQSStandard
		}
		if kind == 0 || (i > 0 && kind != r.kind) {
			return fmt.Errorf("esmtest: record %d is of no known source, or of another one than record 0", i)
		}
		r.kind = kind
	}
	return nil
}

// invoke delivers batch; it returns the records of it that come again.
func (r *run) invoke(ctx context.Context, batch []int) (again []int, failed bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if len(r.Deliveries) == r.m.MaxInvocations {
		return nil, false, ErrStuck
	}
	event, order, err := r.event(batch)
	if err != nil {
		return nil, false, err
	}
	d := Delivery{Records: order}
	d.Answer, d.Err = call(ctx, r.handle, event)
	if d.Err == nil {
		answer := d.Answer
		if r.m.IgnoreAnswers && !r.m.Window {
			answer = nil
		}
		d.Verdict, err = lambdaids.Verify(event, answer)
		if err != nil {
			return nil, false, fmt.Errorf("esmtest: %w", err)
		}
	}
	r.Deliveries = append(r.Deliveries, d)
	v := d.Verdict
	switch {
	case d.Err != nil || v.Outcome == lambdaids.WholeBatch,
		v.Outcome == lambdaids.Undocumented && !r.m.LoseUndocumented:
		return batch, true, nil
	case v.Outcome == lambdaids.Partial:
		for _, i := range v.Retried {
			again = append(again, order[i])
		}
		if r.m.KafkaRewinds {
			for _, i := range v.Maybe {
				again = append(again, order[i])
			}
		}
	}
	if r.m.Window {
		var f struct {
			State json.RawMessage `json:"state"`
		}
		if json.Unmarshal(d.Answer, &f) == nil {
			r.State = f.State
		}
	}
	for _, i := range batch {
		if !slices.Contains(again, i) {
			r.Consumed[i] = true
		}
	}
	// In the source's order, whatever the event's was.
	slices.SortFunc(again, func(a, b int) int { return slices.Index(batch, a) - slices.Index(batch, b) })
	return again, false, nil
}

// call turns a panic into a function error, as the runtime does.
func call(ctx context.Context, handle Invoke, event []byte) (answer []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("esmtest: the function panicked: %v", v)
		}
	}()
	return handle(ctx, event)
}

// event is the batch's JSON, and the batch in the order Verify counts it.
func (r *run) event(batch []int) ([]byte, []int, error) {
	if r.kind == lambdaids.KafkaTopics {
		parts, order := map[string][]json.RawMessage{}, slices.Clone(batch)
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(r.groups[a], r.groups[b]) })
		for _, i := range order {
			parts[r.groups[i]] = append(parts[r.groups[i]], r.recs[i].JSON)
		}
		event, err := json.Marshal(map[string]any{"eventSource": r.m.EventSource, "records": parts})
		return event, order, err
	}
	recs := make([]json.RawMessage, 0, len(batch))
	for _, i := range batch {
		recs = append(recs, r.recs[i].JSON)
	}
	e := map[string]any{"Records": recs}
	if r.m.Window {
		var f struct {
			ARN string `json:"eventSourceARN"`
		}
		if err := json.Unmarshal(r.recs[0].JSON, &f); err != nil {
			return nil, nil, err
		}
		e["window"] = map[string]string{"start": "2020-07-30T17:00:00Z", "end": "2020-07-30T17:05:00Z"}
		e["state"], e["shardId"], e["eventSourceARN"] = r.State, "shard-1", f.ARN
		e["isFinalInvokeForWindow"], e["isWindowTerminatedEarly"] = r.final, false
	}
	event, err := json.Marshal(e)
	return event, batch, err
}

// stream delivers a shard, or the partitions of a topic, in batches.
func (r *run) stream(ctx context.Context) error {
	for from := 0; from < len(r.recs); {
		to := min(from+r.m.BatchSize, len(r.recs))
		batch := make([]int, 0, to-from)
		for i := from; i < to; i++ {
			batch = append(batch, i)
		}
		if err := r.batch(ctx, batch); err != nil {
			return err
		}
		from = to
	}
	if !r.m.Window {
		return nil
	}
	r.final = true
	for {
		if _, failed, err := r.invoke(ctx, nil); err != nil || !failed {
			return err
		}
	}
}

// batch delivers one batch until nothing of it comes again.
func (r *run) batch(ctx context.Context, batch []int) error {
	for attempts := 0; len(batch) > 0; {
		again, failed, err := r.invoke(ctx, batch)
		if err != nil {
			return err
		}
		attempts++
		switch {
		case failed && r.m.Bisect && len(batch) > 1: // splitting is no retry
			half := len(batch) / 2
			if err := r.batch(ctx, batch[:half]); err != nil {
				return err
			}
			batch, attempts = batch[half:], 0
			continue
		case len(again) < len(batch):
			attempts = 0
		case r.m.MaxAttempts > 0 && attempts >= r.m.MaxAttempts:
			r.DeadLetters = append(r.DeadLetters, batch...)
			return nil
		}
		batch = again
	}
	return nil
}

// queue delivers messages until the queue is empty.
func (r *run) queue(ctx context.Context) error {
	waiting := make([]int, len(r.recs))
	received := make([]int, len(r.recs))
	for i := range waiting {
		waiting[i] = i
	}
	for len(waiting) > 0 {
		batch := slices.Clone(waiting[:min(r.m.BatchSize, len(waiting))])
		again, _, err := r.invoke(ctx, batch)
		if err != nil {
			return err
		}
		rest := waiting[len(batch):]
		var kept []int
		for _, i := range again {
			received[i]++
			if r.m.MaxAttempts > 0 && received[i] >= r.m.MaxAttempts {
				r.DeadLetters = append(r.DeadLetters, i)
			} else {
				kept = append(kept, i)
			}
		}
		if r.kind == lambdaids.SQSFIFOQueue {
			waiting = append(kept, rest...) // they keep their place
		} else {
			waiting = append(slices.Clone(rest), kept...)
		}
	}
	return nil
}
