//go:build integration

// Package fidelity holds the simulator of shards/streamtest against servers
// that others wrote: what they implement too, they must do alike.
package fidelity

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
	"github.com/ackgate/ackgate/shards/streamtest"
	"github.com/ackgate/ackgate/shards/streamtest/conformance"
)

func config(srv *servers.Server) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(srv.URL), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

func TestMotoAgreesButForWhatIsKnown(t *testing.T) {
	srv, err := servers.StartMoto(t.Context())
	require.NoError(t, err)
	defer srv.Stop()
	cfg := config(srv)
	conformance.Run(t, conformance.Backend{
		Tables: dynamodb.NewFromConfig(cfg), Streams: dynamodbstreams.NewFromConfig(cfg),
		Known: map[string]string{
			"records and images":              "creation times carry milliseconds, AWS rounds down to the second",
			"a write that changes nothing":    "writes a record, AWS does not",
			"missing stream":                  "describes the table's stream whatever the label of the ARN, AWS answers ResourceNotFoundException",
			"query refusals":                  "breaks the connection where AWS answers ValidationException",
			"a full last page has a next key": "looks ahead, AWS does not",
			"refusals":                        "stores numbers of more than 38 digits, AWS refuses them",
		},
	})
}

func TestDynaliteAgreesButForWhatIsKnown(t *testing.T) {
	srv, err := servers.StartDynalite(t.Context())
	require.NoError(t, err)
	defer srv.Stop()
	tables := dynamodb.NewFromConfig(config(srv))
	conformance.Run(t, conformance.Backend{Tables: tables, Known: map[string]string{
		"failed condition returns the item": "does not know ReturnValuesOnConditionCheckFailure",
	}})
	t.Run("random writes", func(t *testing.T) {
		s := streamtest.New(streamtest.Config{})
		for seed := range uint64(4) {
			conformance.Compare(t, s.Dynamo(), tables, seed, 200)
		}
	})
}
