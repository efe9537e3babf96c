package lambdaids

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrUnknownEvent is returned by Verify for an event of no source it knows.
var ErrUnknownEvent = errors.New("lambdaids: not an event of DynamoDB Streams, Kinesis, SQS or Kafka")

type parsedEvent struct {
	kind   Kind
	recs   []parsedRecord
	byID   map[string]int
	window bool
}

type parsedRecord struct {
	id      string // as answers name it; Kafka: KafkaOffset.String
	eventID string
	group   string // message group or partition
}

// parseEvent reads only what identifies records, into its own types: Verify is
// for other people's handlers too and shares nothing with the adapters.
func parseEvent(event []byte) (*parsedEvent, error) {
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(event, &outer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownEvent, err)
	}
	ev := &parsedEvent{byID: map[string]int{}}
	_, ev.window = outer["window"]
	var err error
	if raw, ok := outer["Records"]; ok {
		err = ev.parseRecords(raw, outer["eventSourceARN"])
	} else if raw, ok := outer["records"]; ok {
		err = ev.parseKafka(outer["eventSource"], raw)
	} else {
		err = fmt.Errorf("%w: it has neither Records nor records", ErrUnknownEvent)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range ev.recs {
		if _, ok := ev.byID[r.id]; !ok && r.id != "" {
			ev.byID[r.id] = i
		}
	}
	return ev, nil
}

func (ev *parsedEvent) parseRecords(raw, arn json.RawMessage) error {
	var recs []struct {
		EventSource    string            `json:"eventSource"`
		EventSourceARN string            `json:"eventSourceARN"`
		EventID        string            `json:"eventID"`
		MessageID      string            `json:"messageId"`
		Attributes     map[string]string `json:"attributes"`
		DynamoDB       struct {
			SequenceNumber string `json:"SequenceNumber"`
		} `json:"dynamodb"`
		Kinesis struct {
			SequenceNumber string `json:"sequenceNumber"`
		} `json:"kinesis"`
	}
	if err := json.Unmarshal(raw, &recs); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownEvent, err)
	}
	if len(recs) == 0 && ev.window { // the last invocation of a window
		ev.kind = KinesisStreams
		if strings.Contains(string(arn), ":dynamodb:") {
			ev.kind = DynamoDBStreams
		}
		return nil
	}
	if len(recs) == 0 {
		return fmt.Errorf("%w: it has no records", ErrUnknownEvent)
	}
	switch first := recs[0]; {
	case first.EventSource == "aws:dynamodb":
		ev.kind = DynamoDBStreams
	case first.EventSource == "aws:kinesis":
		ev.kind = KinesisStreams
	case first.EventSource == "aws:sqs" && strings.HasSuffix(first.EventSourceARN, ".fifo"):
		ev.kind = SQSFIFOQueue
	case first.EventSource == "aws:sqs":
		ev.kind = SQSStandard
	default:
		return fmt.Errorf("%w: its eventSource is %q", ErrUnknownEvent, first.EventSource)
	}
	for _, r := range recs {
		p := parsedRecord{eventID: r.EventID}
		switch ev.kind {
		case DynamoDBStreams:
			p.id = r.DynamoDB.SequenceNumber
		case KinesisStreams:
			p.id = r.Kinesis.SequenceNumber
		default:
			p.id, p.group = r.MessageID, r.Attributes["MessageGroupId"]
		}
		ev.recs = append(ev.recs, p)
	}
	return nil
}

func (ev *parsedEvent) parseKafka(source, raw json.RawMessage) error {
	var name string
	_ = json.Unmarshal(source, &name)
	if name != "aws:kafka" && name != "SelfManagedKafka" {
		return fmt.Errorf("%w: its eventSource is %q", ErrUnknownEvent, name)
	}
	ev.kind = KafkaTopics
	var parts map[string][]struct {
		Offset int64 `json:"offset"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownEvent, err)
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		for _, r := range parts[part] {
			ev.recs = append(ev.recs, parsedRecord{id: KafkaOffset{part, r.Offset}.String(), group: part})
		}
	}
	return nil
}
