package lambdaids

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Identifier is what Lambda takes as the itemIdentifier of one event source.
// The types are structs made only by this package's functions, so that a bare
// string, an event id above all, does not compile where an identifier is due.
type Identifier interface {
	comparable
	DynamoDBSequence | KinesisSequence | MessageID | KafkaOffset

	String() string
	appendJSON(b []byte) []byte
}

// DynamoDBSequence is the dynamodb.SequenceNumber of a DynamoDB Streams record.
type DynamoDBSequence struct{ digits string }

// KinesisSequence is the kinesis.sequenceNumber of a Kinesis record.
type KinesisSequence struct{ digits string }

// MessageID is the messageId of an SQS message, of a standard or a FIFO queue.
type MessageID struct{ id string }

// KafkaOffset is one record of a Kafka event: the event's own map key (the
// topic, a dash and the partition number) and the record's offset.
type KafkaOffset struct {
	partition string
	offset    int64
}

// maxDigits is generous: Kinesis sequence numbers have up to 56 digits and those
// of DynamoDB Streams up to 40. There is no minimum: the samples of the AWS
// documentation use "111".
const maxDigits = 128

// ParseDynamoDB checks that s can be a sequence number of DynamoDB Streams. An
// event id is refused with ErrNotSequence, a missing one with ErrNoIdentifier.
func ParseDynamoDB(s string) (DynamoDBSequence, error) {
	if err := checkDigits(s, "dynamodb.SequenceNumber"); err != nil {
		return DynamoDBSequence{}, err
	}
	return DynamoDBSequence{s}, nil
}

// ParseKinesis checks that s can be a sequence number of Kinesis. An event id
// ("shardId-…:…") is refused with ErrNotSequence, a missing one with
// ErrNoIdentifier.
func ParseKinesis(s string) (KinesisSequence, error) {
	if err := checkDigits(s, "kinesis.sequenceNumber"); err != nil {
		return KinesisSequence{}, err
	}
	return KinesisSequence{s}, nil
}

// ParseMessageID checks that s can be a messageId: anything but nothing.
func ParseMessageID(s string) (MessageID, error) {
	if s == "" {
		return MessageID{}, fmt.Errorf("%w: messageId is empty", ErrNoIdentifier)
	}
	return MessageID{s}, nil
}

// ParseKafka checks that partition and offset can name a Kafka record.
func ParseKafka(partition string, offset int64) (KafkaOffset, error) {
	if partition == "" {
		return KafkaOffset{}, fmt.Errorf("%w: the partition (the key of the event's records map) is empty", ErrNoIdentifier)
	}
	if offset < 0 {
		return KafkaOffset{}, fmt.Errorf("%w: offset %d of %s is negative", ErrNoIdentifier, offset, partition)
	}
	return KafkaOffset{partition, offset}, nil
}

func checkDigits(s, field string) error {
	if s == "" {
		return fmt.Errorf("%w: %s is empty", ErrNoIdentifier, field)
	}
	if len(s) > maxDigits {
		return fmt.Errorf("%w: %s has %d characters", ErrNotSequence, field, len(s))
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return fmt.Errorf("%w: %q is not a decimal number; report %s, never the eventID", ErrNotSequence, s, field)
		}
	}
	return nil
}

// compareDigits orders decimal strings by value: as strings "999" would come
// after "1000", and floats would merge neighbours.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if byLength := cmp.Compare(len(a), len(b)); byLength != 0 {
		return byLength
	}
	return strings.Compare(a, b)
}

// Compare orders sequence numbers by value.
func (s DynamoDBSequence) Compare(o DynamoDBSequence) int { return compareDigits(s.digits, o.digits) }

// Compare orders sequence numbers by value.
func (s KinesisSequence) Compare(o KinesisSequence) int { return compareDigits(s.digits, o.digits) }

func (s DynamoDBSequence) String() string { return s.digits }
func (s KinesisSequence) String() string  { return s.digits }
func (m MessageID) String() string        { return m.id }

// Partition is the topic, a dash and the partition number, as in the event.
func (k KafkaOffset) Partition() string { return k.partition }

// Offset is the record's offset.
func (k KafkaOffset) Offset() int64 { return k.offset }

func (k KafkaOffset) String() string {
	return k.partition + "@" + strconv.FormatInt(k.offset, 10)
}

func (s DynamoDBSequence) appendJSON(b []byte) []byte { return appendQuoted(b, s.digits) }
func (s KinesisSequence) appendJSON(b []byte) []byte  { return appendQuoted(b, s.digits) }
func (m MessageID) appendJSON(b []byte) []byte        { return appendQuoted(b, m.id) }

func (k KafkaOffset) appendJSON(b []byte) []byte {
	b = append(b, `{"partition":`...)
	b = appendQuoted(b, k.partition)
	b = append(b, `,"offset":`...)
	b = strconv.AppendInt(b, k.offset, 10)
	return append(b, '}')
}

func appendQuoted(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic("lambdaids: " + err.Error())
	}
	return append(b, quoted...)
}

// compareIDs orders identifiers of the sources whose answer is a checkpoint.
func compareIDs[ID Identifier](a, b ID) int { return compareDigits(a.String(), b.String()) }
