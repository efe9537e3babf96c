//go:build integration

package stores_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/integration/servers"
)

// endpoint is a server that is neither started nor stopped here.
const endpoint = "ACKGATE_DYNAMODB_ENDPOINT"

func all() []servers.Starter {
	list := servers.All()
	if url := os.Getenv(endpoint); url != "" {
		list = append(list, servers.Starter{Name: endpoint, Start: func(context.Context) (*servers.Server, error) {
			return servers.At(endpoint, url), nil
		}})
	}
	return list
}

// TestSuite holds dynamostore to the contract of checkpoint.Store on every server.
func TestSuite(t *testing.T) {
	for _, s := range all() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server := start(t, s)
			client := server.DynamoDB()
			table := newTable(t, client)
			storetest.Run(t, func(*testing.T) checkpoint.Store {
				return dynamostore.New(as(server.Name, client), table)
			})
			if !t.Failed() {
				fmt.Printf("suite storetest server %s passed\n", server.Name)
			}
		})
	}
}

func start(t *testing.T, s servers.Starter) *servers.Server {
	t.Helper()
	server, err := s.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// newTable makes a table and takes it away when the test ends.
func newTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	table := "ackgate-storetest-" + rand.Text()[:8]
	require.NoError(t, dynamostore.EnsureTable(t.Context(), client, table))
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table})
		if err != nil {
			t.Error(err)
		}
	})
	return table
}
