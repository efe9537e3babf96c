//go:build integration

package stores_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
)

// TestTable: what EnsureTable promises, and what a table that is missing or
// belongs to somebody else answers.
func TestTable(t *testing.T) {
	for _, s := range all() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server := start(t, s)
			client := server.DynamoDB()
			name := func(suffix string) string { return "ackgate-" + suffix + "-" + rand.Text()[:8] }
			drop := func(table string) {
				_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table})
				require.NoError(t, err)
			}

			t.Run("several processes race to create it", func(t *testing.T) {
				table := name("race")
				const n = 6
				errs := make(chan error, n)
				for range n {
					go func() {
						err := dynamostore.EnsureTable(t.Context(), client, table)
						if err == nil { // usable at once, for each of them
							_, err = dynamostore.New(client, table).HasAny(t.Context(), "p")
						}
						errs <- err
					}()
				}
				for range n {
					require.NoError(t, <-errs)
				}
				out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
				require.NoError(t, err)
				require.NotNil(t, out.Table.BillingModeSummary)
				require.Equal(t, types.BillingModePayPerRequest, out.Table.BillingModeSummary.BillingMode)
				drop(table)
			})

			t.Run("the keys of another program", func(t *testing.T) {
				table := name("other")
				_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
					TableName:            &table,
					KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pipeline"), KeyType: types.KeyTypeHash}},
					AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pipeline"), AttributeType: types.ScalarAttributeTypeS}},
					BillingMode:          types.BillingModePayPerRequest,
				})
				require.NoError(t, err)
				require.ErrorIs(t, dynamostore.EnsureTable(t.Context(), client, table), dynamostore.ErrBadTable)
				drop(table)
			})

			t.Run("a missing table is never no checkpoint", func(t *testing.T) {
				store := dynamostore.New(client, name("missing"))
				key := checkpoint.Key{Pipeline: "p", Partition: "a"}
				_, err := store.Load(t.Context(), key)
				require.ErrorIs(t, err, dynamostore.ErrNoTable)
				require.NotErrorIs(t, err, checkpoint.ErrNotFound)
				_, err = store.HasAny(t.Context(), "p")
				require.ErrorIs(t, err, dynamostore.ErrNoTable)
				_, _, err = store.Begin(t.Context(), "p", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
				require.ErrorIs(t, err, dynamostore.ErrNoTable)
				_, err = store.Claim(t.Context(), key, "me")
				require.ErrorIs(t, err, dynamostore.ErrNoTable)
				require.ErrorIs(t, store.Save(t.Context(), checkpoint.Checkpoint{Key: key, Fence: 1, Owner: "me"}), dynamostore.ErrNoTable)
			})

			t.Run("more rows than a page of 1 MB holds", func(t *testing.T) {
				store := dynamostore.New(as(server.Name, client), newTable(t, client))
				const rows = 24
				position := strings.Repeat("x", 60_000)
				for i := range rows {
					cp, err := store.Claim(t.Context(), checkpoint.Key{Pipeline: "p", Partition: fmt.Sprintf("a/%02d", i)}, "me")
					require.NoError(t, err)
					cp.Position, cp.Revision = position, 1
					require.NoError(t, store.Save(t.Context(), cp))
				}
				n := 0
				for cp, err := range store.List(t.Context(), "p", "a/") {
					require.NoError(t, err)
					require.Equal(t, fmt.Sprintf("a/%02d", n), cp.Partition)
					require.Equal(t, position, cp.Position)
					n++
				}
				require.Equal(t, rows, n)
			})
		})
	}
}
