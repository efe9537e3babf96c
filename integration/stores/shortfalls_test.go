//go:build integration

package stores_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/integration/servers"
)

// noAllOld are the servers that ignore ReturnValuesOnConditionCheckFailure in
// UpdateItem. DynamoDB documents that ALL_OLD returns the item as it was when
// the condition failed, which is how dynamostore tells ErrComplete from
// ErrFenced without a second request.
var noAllOld = []string{"dynalite", "kumo"}

// as makes the server's client answer like DynamoDB's where the server falls short.
func as(server string, client dynamostore.Client) dynamostore.Client {
	if slices.Contains(noAllOld, server) {
		return allOld{client}
	}
	return client
}

// allOld reads what the server did not return.
type allOld struct{ dynamostore.Client }

func (c allOld) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, optFns...)
	var failed *types.ConditionalCheckFailedException
	if in.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld || !errors.As(err, &failed) {
		return out, err
	}
	row, readErr := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: in.TableName, Key: in.Key, ConsistentRead: aws.Bool(true)})
	if readErr != nil {
		return nil, readErr
	}
	failed.Item = row.Item
	return nil, err
}

// TestShortfallsAreStillThere fails when a server has learned what is worked
// around here, and when a server falls short without being listed.
func TestShortfallsAreStillThere(t *testing.T) {
	for _, s := range servers.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server := start(t, s)
			client := server.DynamoDB()
			table := newTable(t, client)
			_, err := dynamostore.New(client, table).Claim(t.Context(), checkpoint.Key{Pipeline: "p", Partition: "a"}, "me")
			require.NoError(t, err)

			_, err = client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &table,
				Key: map[string]types.AttributeValue{
					"pipeline":  &types.AttributeValueMemberS{Value: "p"},
					"partition": &types.AttributeValueMemberS{Value: "a"},
				},
				UpdateExpression:                    aws.String("REMOVE fence"),
				ConditionExpression:                 aws.String("attribute_not_exists(fence)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			var failed *types.ConditionalCheckFailedException
			require.ErrorAs(t, err, &failed)
			require.Equal(t, slices.Contains(noAllOld, server.Name), len(failed.Item) == 0)
		})
	}
}
