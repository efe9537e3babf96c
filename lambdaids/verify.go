package lambdaids

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Outcome is how Lambda reads an answer.
type Outcome uint8

const (
	// Succeeded: nothing is retried.
	Succeeded Outcome = iota + 1
	// Partial: Retried names what comes again.
	Partial
	// WholeBatch: everything comes again.
	WholeBatch
	// Undocumented: AWS does not say what happens. Retried holds everything, but
	// records may as well be lost: an answer must not rely on either.
	Undocumented
)

func (o Outcome) String() string {
	return [...]string{"no outcome", "succeeded", "partial", "whole batch retried", "undocumented"}[o]
}

// Verdict is what Verify found. Records are counted as in the event, those of
// Kafka one partition after another in the order of their names.
type Verdict struct {
	Kind     Kind
	Records  int
	Outcome  Outcome
	Items    []VerifiedItem
	Retried  []int    // records that come again
	Maybe    []int    // Kafka: records that come again if the answer is read as a rewind
	Problems []string // what is wrong with the answer, the items' problems included
}

// VerifiedItem is one element of the answer's list.
type VerifiedItem struct {
	Identifier string // as answered
	Record     int    // what it resolves to; -1: nothing
	Problem    string // why it does not, "" if it does
}

// OK reports whether nothing is wrong with the answer.
func (v Verdict) OK() bool { return len(v.Problems) == 0 }

// Err is nil if nothing is wrong with the answer.
func (v Verdict) Err() error {
	if v.OK() {
		return nil
	}
	return errors.New("lambdaids: " + v.String())
}

func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d of %d records come again", v.Kind, v.Outcome, len(v.Retried), v.Records)
	if len(v.Maybe) > 0 {
		fmt.Fprintf(&b, " and %d more may", len(v.Maybe))
	}
	for _, p := range v.Problems {
		b.WriteString("; ")
		b.WriteString(p)
	}
	b.WriteString("; all this only if the mapping's FunctionResponseTypes holds ReportBatchItemFailures, without it Lambda ignores the answer")
	return b.String()
}

// Verify reads a function's answer to an event as Lambda does, for tests of any
// handler: both are JSON, so that a wrong key or identifier shows as it would in
// production. The error is for an event of no known source; what is wrong with
// the answer is in the Verdict.
func Verify(event, response []byte) (Verdict, error) {
	ev, err := parseEvent(event)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Kind: ev.kind, Records: len(ev.recs)}
	v.Outcome = ev.read(&v, bytes.TrimSpace(response))
	if v.Outcome == WholeBatch || v.Outcome == Undocumented {
		for i := range ev.recs {
			v.Retried = append(v.Retried, i)
		}
	}
	return v, nil
}

// read takes the answer apart down to the list.
func (ev *parsedEvent) read(v *Verdict, response []byte) Outcome {
	empty := len(response) == 0 || bytes.Equal(response, []byte("null"))
	var outer map[string]json.RawMessage
	if !empty {
		if !json.Valid(response) {
			v.problem("the answer is not valid JSON")
			return WholeBatch
		}
		if json.Unmarshal(response, &outer) != nil {
			v.problem("the answer is not a JSON object")
			return Undocumented
		}
	}
	if ev.window {
		state := outer["state"]
		if len(state) == 0 || bytes.Equal(state, []byte("null")) {
			v.problem("a time window's answer without state is a failed invocation")
			return WholeBatch
		}
		if len(state) > maxWindowState {
			v.problem(fmt.Sprintf("the state has %d bytes: beyond 1 MB Lambda ends the window early", len(state)))
		}
	}
	if empty {
		return Succeeded
	}
	raw, ok := outer["batchItemFailures"]
	if !ok {
		for k := range outer {
			if strings.EqualFold(k, "batchItemFailures") || strings.EqualFold(k, "batchItemFailure") {
				v.problem(fmt.Sprintf("the key is %q, not \"batchItemFailures\": Lambda sees no failure and the records are lost", k))
			}
		}
		return Succeeded
	}
	if bytes.Equal(raw, []byte("null")) {
		return Succeeded
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		v.problem("batchItemFailures is not a list")
		return Undocumented
	}
	return ev.readItems(v, items)
}

const maxWindowState = 1 << 20

func (ev *parsedEvent) readItems(v *Verdict, items []json.RawMessage) Outcome {
	outcome := Partial
	if len(items) == 0 {
		return Succeeded
	}
	named := map[int]bool{}
	for _, raw := range items {
		it, o := ev.readItem(raw)
		if it.Problem == "" && named[it.Record] {
			it.Problem = "it is named twice, and what Lambda makes of that is undocumented"
			o = Undocumented
		}
		if it.Problem != "" {
			v.problem(fmt.Sprintf("item %d: %s", len(v.Items), it.Problem))
		}
		if it.Record >= 0 {
			named[it.Record] = true
		}
		v.Items = append(v.Items, it)
		outcome = worse(outcome, o)
	}
	if outcome == Partial {
		ev.retry(v, named)
	}
	return outcome
}

// worse keeps what is documented to fail the batch over what is undocumented.
func worse(a, b Outcome) Outcome {
	if a == WholeBatch || b == WholeBatch {
		return WholeBatch
	}
	return max(a, b)
}

func (v *Verdict) problem(p string) { v.Problems = append(v.Problems, p) }

// readItem resolves one element of the list.
func (ev *parsedEvent) readItem(raw json.RawMessage) (VerifiedItem, Outcome) {
	it := VerifiedItem{Record: -1}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		it.Identifier = string(raw)
		it.Problem = "it is not an object with the key \"itemIdentifier\": the whole batch is retried"
		return it, WholeBatch
	}
	id, ok := fields["itemIdentifier"]
	if !ok {
		it.Problem = "it has no key \"itemIdentifier\": the whole batch is retried"
		return it, WholeBatch
	}
	it.Identifier = string(id)
	if bytes.Equal(id, []byte("null")) || bytes.Equal(id, []byte(`""`)) {
		it.Problem = "its identifier is empty: the whole batch is retried"
		return it, WholeBatch
	}
	if ev.kind == KafkaTopics {
		return ev.readKafka(it, id)
	}
	var s string
	if json.Unmarshal(id, &s) != nil {
		it.Problem = "its identifier is not a string"
		return it, Undocumented
	}
	it.Identifier = s
	if i, ok := ev.byID[s]; ok {
		it.Record = i
		return it, Partial
	}
	what := "sequence number"
	if !ev.kind.Rewinds() {
		what = "messageId"
	}
	it.Problem = fmt.Sprintf("%q is the %s of no record of the event", s, what)
	for i, r := range ev.recs {
		if s == r.eventID && s != "" {
			it.Problem = fmt.Sprintf("%q is the eventID of record %d, not its %s, which is %q", s, i, what, r.id)
		}
	}
	if ev.kind.Rewinds() {
		return it, Undocumented
	}
	it.Problem += ": the whole batch is retried"
	return it, WholeBatch
}

func (ev *parsedEvent) readKafka(it VerifiedItem, id json.RawMessage) (VerifiedItem, Outcome) {
	var key struct {
		partition *string
		offset    *int64
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(id, &fields) != nil {
		it.Problem = `a Kafka identifier is an object {"partition": "topic-0", "offset": 1}: the whole batch is retried`
		return it, WholeBatch
	}
	if json.Unmarshal(fields["partition"], &key.partition) != nil || key.partition == nil {
		it.Problem = `the identifier has no "partition" (the key of the event's records map): the whole batch is retried`
		return it, WholeBatch
	}
	if json.Unmarshal(fields["offset"], &key.offset) != nil || key.offset == nil {
		it.Problem = `the identifier's "offset" is not a number: the whole batch is retried`
		return it, WholeBatch
	}
	k := KafkaOffset{*key.partition, *key.offset}
	it.Identifier = k.String()
	if i, ok := ev.byID[it.Identifier]; ok {
		it.Record = i
		return it, Partial
	}
	it.Problem = fmt.Sprintf("the event has no offset %d in a partition %q: the whole batch is retried", k.offset, k.partition)
	return it, WholeBatch
}

// retry says what comes again of an answer that names the given records.
func (ev *parsedEvent) retry(v *Verdict, named map[int]bool) {
	low := -1 // the record with the lowest number of a stream's answer
	for i, r := range ev.recs {
		if named[i] && (low < 0 || compareDigits(r.id, ev.recs[low].id) < 0) {
			low = i
		}
	}
	reported := map[string]bool{} // groups and partitions with a reported record so far
	for i, r := range ev.recs {
		switch {
		case ev.kind.Rewinds():
			// A record without number has its place in the shard all the same.
			if (r.id != "" && compareDigits(r.id, ev.recs[low].id) >= 0) || (r.id == "" && i > low) {
				v.Retried = append(v.Retried, i)
			}
			continue
		case named[i]:
			v.Retried = append(v.Retried, i)
			reported[r.group] = true
		case ev.kind == SQSFIFOQueue && reported[r.group]:
			v.problem(fmt.Sprintf("message %d (%s) is behind a reported one of its group %q but is not reported: it is deleted, and the group's order is lost", i, r.id, r.group))
		case ev.kind == KafkaTopics && reported[r.group]:
			v.Maybe = append(v.Maybe, i)
		}
	}
}
