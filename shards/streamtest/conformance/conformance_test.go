package conformance_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/ackgate/ackgate/shards/streamtest"
	"github.com/ackgate/ackgate/shards/streamtest/conformance"
)

func TestDirectClientsConform(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	conformance.Run(t, conformance.Backend{Tables: s.Dynamo(), Streams: s.Streams()})
}

func TestSDKClientsConform(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	conformance.Run(t, conformance.Backend{Tables: dynamodb.NewFromConfig(s.AWSConfig()), Streams: dynamodbstreams.NewFromConfig(s.AWSConfig())})
}

// The direct clients and the wire are two ways to one service: what differs
// was lost on the wire.
func TestDirectAndSDKClientsAnswerAlike(t *testing.T) {
	a, b := streamtest.New(streamtest.Config{}), streamtest.New(streamtest.Config{})
	for seed := range uint64(2) {
		conformance.Compare(t, a.Dynamo(), dynamodb.NewFromConfig(b.AWSConfig()), seed, 200)
	}
}
