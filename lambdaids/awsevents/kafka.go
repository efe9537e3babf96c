package awsevents

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids"
)

// KafkaRecord is a record together with the key of the event's records map that
// held it, which its identifier needs.
type KafkaRecord struct {
	TopicPartition string // as in the event: the topic, a dash, the partition number
	*events.KafkaRecord
}

// KafkaConfig sets up Kafka.
type KafkaConfig = lambdaids.Config[KafkaRecord]

// KafkaResponse is the answer for a Kafka event; aws-lambda-go has no type for it.
type KafkaResponse = lambdaids.Response[lambdaids.KafkaOffset]

// KafkaHandler handles the events of Kafka topics, of Amazon MSK and self-managed.
type KafkaHandler struct {
	p *lambdaids.Processor[KafkaRecord, lambdaids.KafkaOffset]
}

// KafkaSource identifies records by the event's map key and the offset.
func KafkaSource() lambdaids.Source[KafkaRecord, lambdaids.KafkaOffset] {
	return lambdaids.Kafka(
		func(r *KafkaRecord) string { return r.TopicPartition },
		func(r *KafkaRecord) int64 { return r.Offset })
}

// Kafka runs handle over the records of Kafka events, the partitions in the order
// of their names. The mapping must be in provisioned mode: only there does Lambda
// take partial answers.
func Kafka(handle lambdaids.Handler[KafkaRecord], cfg KafkaConfig) *KafkaHandler {
	return &KafkaHandler{lambdaids.New(KafkaSource(), handle, cfg)}
}

// Handle processes one event. The error, if any, is a *lambdaids.BatchError.
func (h *KafkaHandler) Handle(ctx context.Context, e events.KafkaEvent) (KafkaResponse, error) {
	return h.p.Process(ctx, KafkaRecords(e))
}

// KafkaRecords are the event's records, one partition after another.
func KafkaRecords(e events.KafkaEvent) []KafkaRecord {
	n := 0
	for _, part := range e.Records {
		n += len(part)
	}
	flat := make([]KafkaRecord, 0, n)
	for _, name := range slices.Sorted(maps.Keys(e.Records)) {
		part := e.Records[name]
		for i := range part {
			flat = append(flat, KafkaRecord{name, &part[i]})
		}
	}
	return flat
}

// Stats reports the counters.
func (h *KafkaHandler) Stats() lambdaids.Stats { return h.p.Stats() }

// KafkaKey is what a record is recognised by when it comes again: topic,
// partition and offset.
func KafkaKey(r *KafkaRecord) string {
	return r.TopicPartition + "-" + strconv.FormatInt(r.Offset, 10)
}

// KeyBytes is the record's key, decoded from base64; nil if it has none.
func (r *KafkaRecord) KeyBytes() ([]byte, error) { return r.decode("key", r.Key) }

// ValueBytes is the record's value, decoded from base64; nil if it has none: on a
// compacted topic a tombstone.
func (r *KafkaRecord) ValueBytes() ([]byte, error) { return r.decode("value", r.Value) }

func (r *KafkaRecord) decode(what, s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("awsevents: %s of %s: %w", what, KafkaKey(r), err)
	}
	return b, nil
}

// HeaderValues are the values of every header of that name, in order: Kafka
// allows a name more than once.
func (r *KafkaRecord) HeaderValues(name string) [][]byte {
	var found [][]byte
	for _, h := range r.Headers {
		if v, ok := h[name]; ok {
			found = append(found, v)
		}
	}
	return found
}

// Time is the record's timestamp; r.TimestampType says whose clock it is.
func (r *KafkaRecord) Time() time.Time { return r.Timestamp.Time }
