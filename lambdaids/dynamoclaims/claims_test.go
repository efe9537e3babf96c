package dynamoclaims_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/claimstest"
	"github.com/ackgate/ackgate/lambdaids/dynamoclaims"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func table(t *testing.T) *dynamodb.Client {
	t.Helper()
	client := dynamodb.NewFromConfig(streamtest.New(streamtest.Config{}).AWSConfig())
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("claims"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("key"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("key"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	require.NoError(t, err)
	return client
}

func TestConformance(t *testing.T) {
	client := table(t)
	claimstest.Run(t, func(now func() time.Time) lambdaids.Claims {
		return dynamoclaims.New(client, dynamoclaims.Config{Table: "claims", Prefix: "orders/", Now: now})
	})
}

// The guarantee ends with the time to live, and not before.
func TestAppliedKeysAreForgottenAfterTheTTL(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := dynamoclaims.New(table(t), dynamoclaims.Config{Table: "claims", TTL: time.Hour, Now: func() time.Time { return now }})
	claim, _, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.NoError(t, c.Confirm(t.Context(), claim))
	now = now.Add(time.Hour - time.Second)
	_, state, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Applied, state)
	now = now.Add(time.Second)
	_, state, err = c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Claimed, state)
	require.ErrorIs(t, c.Confirm(t.Context(), claim), lambdaids.ErrClaimLost)
}

// silent refuses writes without saying what stood in the way, as some servers do.
type silent struct{ dynamoclaims.Client }

func (s silent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = ""
	return s.Client.UpdateItem(ctx, in, opts...)
}

func TestAppliedIsToldFromInFlightWithoutTheOldItem(t *testing.T) {
	c := dynamoclaims.New(silent{table(t)}, dynamoclaims.Config{Table: "claims"})
	claim, _, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	_, state, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.InFlight, state)
	require.NoError(t, c.Confirm(t.Context(), claim))
	_, state, err = c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Applied, state)
}

// lossy repeats each write, as the SDK does when an answer was lost.
type lossy struct{ dynamoclaims.Client }

func (l lossy) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if out, err := l.Client.UpdateItem(ctx, in, opts...); err != nil {
		return out, err
	}
	return l.Client.UpdateItem(ctx, in, opts...)
}

func (l lossy) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if out, err := l.Client.DeleteItem(ctx, in, opts...); err != nil {
		return out, err
	}
	return l.Client.DeleteItem(ctx, in, opts...)
}

func TestRepeatedWritesAreOne(t *testing.T) {
	client := lossy{table(t)}
	claimstest.Run(t, func(now func() time.Time) lambdaids.Claims {
		return dynamoclaims.New(client, dynamoclaims.Config{Table: "claims", Now: now})
	})
}

func TestConfirmItemIsTheConfirmation(t *testing.T) {
	client := table(t)
	c := dynamoclaims.New(client, dynamoclaims.Config{Table: "claims"})
	claim, _, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	u := c.ConfirmItem(claim).Update
	write := func() error {
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		})
		return err
	}
	require.NoError(t, write())
	_, state, err := c.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Applied, state)
	require.ErrorIs(t, c.Release(t.Context(), claim), lambdaids.ErrClaimLost, "what is applied stays")
}

func TestErrorsNameTheTable(t *testing.T) {
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", RetryMaxAttempts: 1,
		Credentials: aws.AnonymousCredentials{},
		HTTPClient:  failing{},
	})
	c := dynamoclaims.New(client, dynamoclaims.Config{Table: "claims"})
	_, _, err := c.Claim(t.Context(), "k", time.Minute)
	require.ErrorContains(t, err, `dynamoclaims: claim "k" in table claims`)
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, c.Confirm(t.Context(), lambdaids.Claim{Key: "k"}), "confirm")
	require.ErrorContains(t, c.Release(t.Context(), lambdaids.Claim{Key: "k"}), "release")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = c.Claim(ctx, "k", time.Minute)
	require.Equal(t, context.Canceled, err)
	require.Panics(t, func() { dynamoclaims.New(nil, dynamoclaims.Config{}) })
}

var errDown = errors.New("the network is down")

type failing struct{}

func (failing) Do(*http.Request) (*http.Response, error) { return nil, errDown }
