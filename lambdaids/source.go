package lambdaids

// Kind names an event source and with it Lambda's reading of an answer.
type Kind uint8

// The event sources whose mappings take partial answers. Amazon MQ and
// DocumentDB take none: there only an error retries, and the whole batch.
const (
	DynamoDBStreams Kind = iota + 1
	KinesisStreams
	SQSStandard
	SQSFIFOQueue
	KafkaTopics // Amazon MSK and self-managed
)

func (k Kind) String() string {
	switch k {
	case DynamoDBStreams:
		return "DynamoDB Streams"
	case KinesisStreams:
		return "Kinesis"
	case SQSStandard:
		return "SQS"
	case SQSFIFOQueue:
		return "SQS FIFO"
	case KafkaTopics:
		return "Kafka"
	}
	return "unknown source"
}

// Rewinds reports whether an answer is a checkpoint: the lowest identifier and
// everything after it in the batch is delivered again, successes included.
func (k Kind) Rewinds() bool { return k == DynamoDBStreams || k == KinesisStreams }

// Ordered reports whether work behind a failed record of the same shard, message
// group or partition is done out of order, or done twice.
func (k Kind) Ordered() bool { return k != SQSStandard }

// Source says how the records of one event source are identified and ordered.
type Source[R any, ID Identifier] struct {
	kind  Kind
	id    func(*R) (ID, error)
	group func(*R) string // what is ordered inside a batch; nil: the whole batch, or nothing on SQS
}

// Kind is the source's kind.
func (s Source[R, ID]) Kind() Kind { return s.kind }

// ID is the identifier of one record, or why it has none.
func (s Source[R, ID]) ID(rec *R) (ID, error) { return s.id(rec) }

// DynamoDB is a DynamoDB stream; sequence gives a record's
// dynamodb.SequenceNumber. See "Configuring partial batch response with DynamoDB
// and Lambda",
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
func DynamoDB[R any](sequence func(*R) string) Source[R, DynamoDBSequence] {
	return Source[R, DynamoDBSequence]{
		kind: DynamoDBStreams,
		id:   func(r *R) (DynamoDBSequence, error) { return ParseDynamoDB(sequence(r)) },
	}
}

// Kinesis is a Kinesis data stream; sequence gives a record's
// kinesis.sequenceNumber. See "Configuring partial batch response with Kinesis
// Data Streams and Lambda",
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
func Kinesis[R any](sequence func(*R) string) Source[R, KinesisSequence] {
	return Source[R, KinesisSequence]{
		kind: KinesisStreams,
		id:   func(r *R) (KinesisSequence, error) { return ParseKinesis(sequence(r)) },
	}
}

// SQS is a standard queue; message gives a message's messageId. See "Handling
// errors for an SQS event source in Lambda",
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
func SQS[R any](message func(*R) string) Source[R, MessageID] {
	return Source[R, MessageID]{
		kind: SQSStandard,
		id:   func(r *R) (MessageID, error) { return ParseMessageID(message(r)) },
	}
}

// SQSFIFO is a FIFO queue; group gives a message's MessageGroupId. Messages
// without one share a group. A queue is a FIFO queue when its ARN ends in
// ".fifo", never because a message has a group: standard queues have them too
// (fair queues).
func SQSFIFO[R any](message, group func(*R) string) Source[R, MessageID] {
	return Source[R, MessageID]{
		kind:  SQSFIFOQueue,
		id:    func(r *R) (MessageID, error) { return ParseMessageID(message(r)) },
		group: group,
	}
}

// Kafka is a Kafka event source in provisioned mode, on Amazon MSK or
// self-managed; partition gives the key of the event's records map that holds a
// record, offset its offset. See "Configuring error handling controls for Kafka
// event sources",
// https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html
func Kafka[R any](partition func(*R) string, offset func(*R) int64) Source[R, KafkaOffset] {
	return Source[R, KafkaOffset]{
		kind:  KafkaTopics,
		id:    func(r *R) (KafkaOffset, error) { return ParseKafka(partition(r), offset(r)) },
		group: partition,
	}
}
