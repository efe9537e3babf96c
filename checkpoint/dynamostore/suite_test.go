package dynamostore_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// The conformance suite on a table whose eventually consistent reads always miss
// the last write: a read that forgets to be strongly consistent fails it.
func TestSuite(t *testing.T) {
	for name, client := range map[string]func(*streamtest.Service) dynamostore.Client{
		"direct": func(s *streamtest.Service) dynamostore.Client { return s.Dynamo() },
		"SDK":    func(s *streamtest.Service) dynamostore.Client { return dynamodb.NewFromConfig(s.AWSConfig()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := streamtest.New(streamtest.Config{StaleReads: 1})
			require.NoError(t, dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints"))
			storetest.Run(t, func(*testing.T) checkpoint.Store {
				return dynamostore.New(client(s), "checkpoints")
			})
		})
	}
}
