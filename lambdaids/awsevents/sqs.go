package awsevents

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackgate/ackgate/lambdaids"
)

// SQSConfig sets up SQS.
type SQSConfig = lambdaids.Config[events.SQSMessage]

// SQSHandler handles the events of SQS queues, standard and FIFO.
type SQSHandler struct {
	standard, fifo *lambdaids.Processor[events.SQSMessage, lambdaids.MessageID]
}

// SQSSource identifies messages of a standard queue by messageId.
func SQSSource() lambdaids.Source[events.SQSMessage, lambdaids.MessageID] {
	return lambdaids.SQS(messageID)
}

// SQSFIFOSource identifies messages of a FIFO queue by messageId and orders them
// by MessageGroupId.
func SQSFIFOSource() lambdaids.Source[events.SQSMessage, lambdaids.MessageID] {
	return lambdaids.SQSFIFO(messageID, SQSGroup)
}

func messageID(m *events.SQSMessage) string { return m.MessageId }

// SQS runs handle over the messages of SQS events. Each event's queue is told by
// its ARN: one that ends in ".fifo" is a FIFO queue.
func SQS(handle lambdaids.Handler[events.SQSMessage], cfg SQSConfig) *SQSHandler {
	return &SQSHandler{
		standard: lambdaids.New(SQSSource(), handle, cfg),
		fifo:     lambdaids.New(SQSFIFOSource(), handle, cfg),
	}
}

// Handle processes one event. The error, if any, is a *lambdaids.BatchError.
func (h *SQSHandler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	p := h.standard
	if len(e.Records) > 0 && strings.HasSuffix(e.Records[0].EventSourceARN, ".fifo") {
		p = h.fifo
	}
	resp, err := p.Process(ctx, e.Records)
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i := range resp.Len() {
		out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: resp.At(i).String()})
	}
	return out, err
}

// Stats reports the counters, of both kinds of queue.
func (h *SQSHandler) Stats() lambdaids.Stats { return h.standard.Stats().Add(h.fifo.Stats()) }

// SQSKey is what a message is recognised by when it comes again: its messageId.
func SQSKey(m *events.SQSMessage) string { return m.MessageId }

// SQSGroup is the MessageGroupId, "" if the message has none.
func SQSGroup(m *events.SQSMessage) string { return m.Attributes["MessageGroupId"] }

// SQSTime is when the message was sent.
func SQSTime(m *events.SQSMessage) (time.Time, error) {
	ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("awsevents: SentTimestamp of message %s: %w", m.MessageId, err)
	}
	return time.UnixMilli(ms), nil
}

// SQSReceiveCount is how often the message was received, this time included.
func SQSReceiveCount(m *events.SQSMessage) (int, error) {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 0, fmt.Errorf("awsevents: ApproximateReceiveCount of message %s: %w", m.MessageId, err)
	}
	return n, nil
}
