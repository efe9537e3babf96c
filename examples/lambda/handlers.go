package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
)

var errNoStock = errors.New("not in stock")

// order is what every source carries.
type order struct {
	ID  string `json:"id"`
	Qty int    `json:"qty"`
}

type shop struct {
	log    *slog.Logger
	claims lambdaids.Claims
}

// takeOrder stands for the real work.
func (s *shop) takeOrder(ctx context.Context, o order) error {
	if o.Qty > 100 {
		return fmt.Errorf("order %s: %d pieces: %w", o.ID, o.Qty, errNoStock)
	}
	s.log.InfoContext(ctx, "order taken", "id", o.ID, "qty", o.Qty)
	return nil
}

// decode gives an order, or an error that no retry mends.
func decode(b []byte) (order, error) {
	var o order
	if err := json.Unmarshal(b, &o); err != nil {
		return o, lambdaids.Permanent(fmt.Errorf("not an order: %w", err))
	}
	return o, nil
}

// handlerFor wires a source; lambda.Start takes what it returns.
func handlerFor(source string, log *slog.Logger, claims lambdaids.Claims) (any, error) {
	s := &shop{log, claims}
	switch source {
	case "dynamodb":
		return s.dynamoDB().Handle, nil
	case "kinesis":
		return s.kinesis().Handle, nil
	case "sqs":
		return s.sqs().Handle, nil
	case "kafka":
		return s.kafka().Handle, nil
	case "window":
		return s.window().Handle, nil
	}
	return nil, fmt.Errorf("SOURCE is %q: set it to dynamodb, kinesis, sqs, kafka or window", source)
}

// dynamoDB takes the orders that were put into a table, in their order; a change
// that comes again is recognised by its eventID.
func (s *shop) dynamoDB() *awsevents.DynamoDBHandler {
	take := func(ctx context.Context, r *events.DynamoDBEventRecord) error {
		if r.EventName == string(events.DynamoDBOperationTypeRemove) {
			return nil
		}
		v := r.Change.NewImage["qty"]
		if v.DataType() != events.DataTypeNumber { // Int64 would panic
			return lambdaids.Permanent(fmt.Errorf("order %s: qty is no number", r.EventID))
		}
		qty, err := v.Int64()
		if err != nil {
			return lambdaids.Permanent(err)
		}
		return s.takeOrder(ctx, order{r.Change.Keys["id"].String(), int(qty)})
	}
	return awsevents.DynamoDB(
		lambdaids.Dedup(s.claims, awsevents.DynamoDBKey, timeout, take),
		awsevents.DynamoDBConfig{DeadLetter: deadLetter(s, awsevents.DynamoDBKey), Logger: s.log})
}

// kinesis takes four orders at once, those of one customer in their order.
func (s *shop) kinesis() *awsevents.KinesisHandler {
	take := func(ctx context.Context, r *events.KinesisEventRecord) error {
		o, err := decode(awsevents.KinesisData(r))
		if err != nil {
			return err
		}
		return s.takeOrder(ctx, o)
	}
	return awsevents.Kinesis(
		lambdaids.Dedup(s.claims, awsevents.KinesisKey, timeout, take),
		awsevents.KinesisConfig{
			Concurrency: 4,
			Key:         func(r *events.KinesisEventRecord) string { return r.Kinesis.PartitionKey },
			DeadLetter:  deadLetter(s, awsevents.KinesisKey), Logger: s.log,
		})
}

// sqs serves standard and FIFO queues alike: eight messages, or groups, at once.
func (s *shop) sqs() *awsevents.SQSHandler {
	take := func(ctx context.Context, m *events.SQSMessage) error {
		o, err := decode([]byte(m.Body))
		if err != nil {
			return err
		}
		return s.takeOrder(ctx, o)
	}
	return awsevents.SQS(
		lambdaids.Dedup(s.claims, awsevents.SQSKey, timeout, take),
		awsevents.SQSConfig{Concurrency: 8, DeadLetter: deadLetter(s, awsevents.SQSKey), Logger: s.log})
}

// kafka works on all partitions of the event at once.
func (s *shop) kafka() *awsevents.KafkaHandler {
	take := func(ctx context.Context, r *awsevents.KafkaRecord) error {
		value, err := r.ValueBytes()
		if err != nil {
			return lambdaids.Permanent(err)
		}
		if value == nil {
			return nil // a tombstone
		}
		o, err := decode(value)
		if err != nil {
			return err
		}
		return s.takeOrder(ctx, o)
	}
	return awsevents.Kafka(
		lambdaids.Dedup(s.claims, awsevents.KafkaKey, timeout, take),
		awsevents.KafkaConfig{Concurrency: 8, DeadLetter: deadLetter(s, awsevents.KafkaKey), Logger: s.log})
}

// sums is a window's state: pieces ordered, by customer.
type sums map[string]int

type windowHandler = awsevents.WindowHandler[events.KinesisEventRecord, sums, lambdaids.KinesisSequence]

// window adds up the orders of a tumbling window and logs the sums when it ends.
// It claims nothing: what comes again is not in the state yet.
func (s *shop) window() *windowHandler {
	fold := func(_ context.Context, state sums, r *events.KinesisEventRecord) (sums, error) {
		o, err := decode(awsevents.KinesisData(r))
		if err != nil {
			return state, err
		}
		if state == nil {
			state = sums{}
		}
		state[r.Kinesis.PartitionKey] += o.Qty
		return state, nil
	}
	final := func(ctx context.Context, state sums, e awsevents.WindowEvent[events.KinesisEventRecord, sums]) error {
		s.log.InfoContext(ctx, "window", "start", e.Window.Start.Time, "sums", state)
		return nil
	}
	return awsevents.KinesisWindow(fold, final,
		awsevents.KinesisConfig{DeadLetter: deadLetter(s, awsevents.KinesisKey), Logger: s.log})
}

// deadLetter logs what can never be processed; in earnest it sends it to a queue
// and returns an error if that fails.
func deadLetter[R any](s *shop, key func(*R) string) func(context.Context, *R, error) error {
	return func(ctx context.Context, r *R, err error) error {
		s.log.WarnContext(ctx, "dead letter", "key", key(r), "err", err)
		return nil
	}
}
