package awsevents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids"
)

// WindowEvent is a stream event of a mapping with a tumbling window. Its state is
// generic, where events.TimeWindowProperties has map[string]string, which does
// not decode the AWS documentation's own example {"1":282,"2":715}.
type WindowEvent[R, S any] struct {
	Records                 []R           `json:"Records"`
	Window                  events.Window `json:"window"`
	State                   S             `json:"state"`
	ShardID                 string        `json:"shardId"`
	EventSourceARN          string        `json:"eventSourceARN"`
	IsFinalInvokeForWindow  bool          `json:"isFinalInvokeForWindow"`
	IsWindowTerminatedEarly bool          `json:"isWindowTerminatedEarly"`
}

// WindowResponse is the answer for a WindowEvent. Its JSON always has a state: an
// answer without one is a failed invocation. See "Implementing stateful DynamoDB
// stream processing in Lambda",
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html
type WindowResponse[S any, ID lambdaids.Identifier] struct {
	State    S
	Failures lambdaids.Response[ID]
}

// MarshalJSON gives the answer as Lambda reads it.
func (r WindowResponse[S, ID]) MarshalJSON() ([]byte, error) {
	state, err := json.Marshal(r.State)
	if err != nil {
		return nil, fmt.Errorf("awsevents: the window's state: %w", err)
	}
	if bytes.Equal(state, []byte("null")) {
		state = []byte("{}")
	}
	failures, err := r.Failures.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"state":`), state...)
	b = append(b, ',')
	return append(b, failures[1:]...), nil
}

// Fold adds one record to the state of its window. When it returns an error it
// must not have changed the state.
type Fold[R, S any] func(ctx context.Context, state S, rec *R) (S, error)

// Final takes the state of a window that is over.
type Final[R, S any] func(ctx context.Context, state S, e WindowEvent[R, S]) error

// WindowHandler folds the records of each window into one state.
type WindowHandler[R, S any, ID lambdaids.Identifier] struct {
	src   lambdaids.Source[R, ID]
	fold  Fold[R, S]
	final Final[R, S]
	cfg   lambdaids.Config[R]
}

// DynamoDBWindow folds DynamoDB stream events. Records are processed one after
// another up to the first failure, whatever cfg says: a record that is delivered
// again must not be in the state already, or it counts twice. For the same
// reason a failed record without identifier fails the batch instead of widening
// it, unless cfg drops it.
func DynamoDBWindow[S any](fold Fold[events.DynamoDBEventRecord, S], final Final[events.DynamoDBEventRecord, S], cfg DynamoDBConfig) *WindowHandler[events.DynamoDBEventRecord, S, lambdaids.DynamoDBSequence] {
	return window(DynamoDBSource(), fold, final, cfg)
}

// KinesisWindow folds Kinesis events, as DynamoDBWindow does.
func KinesisWindow[S any](fold Fold[events.KinesisEventRecord, S], final Final[events.KinesisEventRecord, S], cfg KinesisConfig) *WindowHandler[events.KinesisEventRecord, S, lambdaids.KinesisSequence] {
	return window(KinesisSource(), fold, final, cfg)
}

func window[R, S any, ID lambdaids.Identifier](src lambdaids.Source[R, ID], fold Fold[R, S], final Final[R, S], cfg lambdaids.Config[R]) *WindowHandler[R, S, ID] {
	if fold == nil || final == nil {
		panic("awsevents: a window needs a fold and a final func")
	}
	cfg.Concurrency, cfg.AfterFailure = 1, lambdaids.StopAll
	if cfg.Unreportable != lambdaids.Drop {
		cfg.Unreportable = lambdaids.FailBatch
	}
	return &WindowHandler[R, S, ID]{src, fold, final, cfg}
}

// Handle processes one event. On an error Lambda repeats the invocation with the
// state it had.
func (h *WindowHandler[R, S, ID]) Handle(ctx context.Context, e WindowEvent[R, S]) (WindowResponse[S, ID], error) {
	state := e.State
	p := lambdaids.New(h.src, func(ctx context.Context, rec *R) error {
		next, err := h.fold(ctx, state, rec)
		if err == nil {
			state = next
		}
		return err
	}, h.cfg)
	resp, err := p.Process(ctx, e.Records)
	if err != nil {
		return WindowResponse[S, ID]{State: e.State}, err
	}
	if e.IsFinalInvokeForWindow {
		if resp.Len() > 0 {
			return WindowResponse[S, ID]{State: e.State}, fmt.Errorf("awsevents: the final invocation of a window failed at record %s: it is repeated whole", resp.At(0))
		}
		if err := h.final(ctx, state, e); err != nil {
			return WindowResponse[S, ID]{State: e.State}, fmt.Errorf("awsevents: the final func of a window: %w", err)
		}
	}
	return WindowResponse[S, ID]{State: state, Failures: resp}, nil
}
