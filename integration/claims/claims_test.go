//go:build integration

package claims_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/claimstest"
	"github.com/ackgate/ackgate/lambdaids/dynamoclaims"
)

// A check is some thirty requests, and the slowest server takes ten milliseconds
// for each.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, s servers.Starter) (*dynamodb.Client, string) {
	t.Helper()
	server, err := s.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := server.DynamoDB()
	table := "ackgate-claims-" + rand.Text()[:8]
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &table,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("key"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("key"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	require.NoError(t, err)
	err = dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &table}, time.Minute)
	require.NoError(t, err)
	return client, table
}

// noTransactions are the servers that do not know TransactWriteItems.
var noTransactions = []string{"dynalite"}

func TestClaims(t *testing.T) {
	for _, s := range servers.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			client, table := open(t, s)
			t.Run("conformance", func(t *testing.T) {
				claimstest.Run(t, func(now func() time.Time) lambdaids.Claims {
					return dynamoclaims.New(client, dynamoclaims.Config{Table: table, Now: now})
				})
			})
			if !slices.Contains(noTransactions, s.Name) {
				t.Run("exactly once in a transaction", func(t *testing.T) { exactlyOnce(t, client, table) })
			}
			if !t.Failed() {
				fmt.Printf("suite claimstest server %s passed\n", s.Name)
			}
		})
	}
}

var errCrash = errors.New("the answer is lost")

// Each record adds one to a counter, in the transaction that confirms its claim.
// Every other transaction's answer is lost, after it took effect, and every
// record is delivered twice more.
func exactlyOnce(t *testing.T, client *dynamodb.Client, table string) {
	claims := dynamoclaims.New(client, dynamoclaims.Config{Table: table})
	counter := map[string]types.AttributeValue{"key": &types.AttributeValueMemberS{Value: "counter"}}
	written := 0
	h := lambdaids.DedupAtomic(claims, func(r *string) string { return *r }, time.Minute,
		func(ctx context.Context, _ *string, c lambdaids.Claim) error {
			_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				claims.ConfirmItem(c),
				{Update: &types.Update{
					TableName: &table, Key: counter,
					UpdateExpression:          aws.String("ADD n :one"),
					ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
				}},
			}})
			if err != nil {
				return err
			}
			if written++; written%2 == 0 {
				return errCrash
			}
			return nil
		})
	const records = 6
	for i := range records {
		key := fmt.Sprint("record-", i)
		for range 3 {
			if err := h(t.Context(), &key); err != nil {
				require.ErrorIs(t, err, errCrash)
			}
		}
	}
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: counter, ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	require.Equal(t, &types.AttributeValueMemberN{Value: fmt.Sprint(records)}, out.Item["n"])
	require.Equal(t, records, written)

	// A claim that somebody else took refuses the whole transaction.
	claim, _, err := claims.Claim(t.Context(), "stolen", -time.Second)
	require.NoError(t, err)
	_, state, err := claims.Claim(t.Context(), "stolen", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Claimed, state)
	_, err = client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{claims.ConfirmItem(claim)},
	})
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
}
