package dynamoclaims

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/internal/whole"
	"github.com/ackgate/ackgate/lambdaids"
)

// Client is what Claims needs of a *dynamodb.Client.
type Client interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// DefaultTTL outlives the retention of DynamoDB Streams and of a Kinesis stream
// as it is created, 24 hours, several times. A queue keeps messages up to 14 days
// and a Kinesis stream up to a year: set Config.TTL to the longest time that a
// record may come again.
const DefaultTTL = 7 * 24 * time.Hour

// Config sets up Claims.
type Config struct {
	// Table is the table's name. Required.
	Table string
	// Prefix is put before every key, so that several functions share a table.
	Prefix string
	// TTL is how long an applied key is remembered. Default DefaultTTL.
	TTL time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Claims implements lambdaids.Claims.
type Claims struct {
	client Client
	cfg    Config
}

var _ lambdaids.Claims = (*Claims)(nil)

const (
	stateClaimed = "claimed"
	stateApplied = "applied"
)

// New makes Claims. It does no I/O, and panics without client or table.
func New(client Client, cfg Config) *Claims {
	if client == nil || cfg.Table == "" {
		panic("dynamoclaims: New needs a client and Config.Table")
	}
	if cfg.TTL <= 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Claims{client: client, cfg: cfg}
}

// Claim implements lambdaids.Claims.
func (c *Claims) Claim(ctx context.Context, key string, lease time.Duration) (lambdaids.Claim, lambdaids.ClaimState, error) {
	now := c.cfg.Now()
	claim := lambdaids.Claim{Key: key, Token: rand.Text()}
	_, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:           &c.cfg.Table,
		Key:                 c.key(key),
		UpdateExpression:    aws.String("SET #token = :token, #state = :claimed, #lease_until = :until, #expires_at = :expires"),
		ConditionExpression: aws.String("attribute_not_exists(#key) OR #token = :token OR #expires_at <= :seconds OR (#state = :claimed AND #lease_until <= :now)"),
		ExpressionAttributeNames: map[string]string{
			"#key": "key", "#token": "token", "#state": "state", "#lease_until": "lease_until", "#expires_at": "expires_at",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text(claim.Token), ":claimed": text(stateClaimed),
			":now": number(now.UnixMilli()), ":until": number(now.Add(lease).UnixMilli()),
			// A claim outlives its lease in the table, so that its end is seen as one.
			":seconds": number(now.Unix()), ":expires": number(now.Add(c.cfg.TTL + lease).Unix()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, whole.Call)
	var refused *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return claim, lambdaids.Claimed, nil
	case !errors.As(err, &refused):
		return lambdaids.Claim{}, 0, c.wrap(ctx, "claim", key, err)
	}
	row := refused.Item
	if len(row) == 0 { // some servers do not return what refused the write
		out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.cfg.Table, Key: c.key(key), ConsistentRead: aws.Bool(true)}, whole.Call)
		if err != nil {
			return lambdaids.Claim{}, 0, c.wrap(ctx, "read the claim of", key, err)
		}
		row = out.Item
	}
	if state, ok := row["state"].(*types.AttributeValueMemberS); ok && state.Value == stateApplied {
		return lambdaids.Claim{}, lambdaids.Applied, nil
	}
	return lambdaids.Claim{}, lambdaids.InFlight, nil
}

// Confirm implements lambdaids.Claims.
func (c *Claims) Confirm(ctx context.Context, claim lambdaids.Claim) error {
	u := c.confirm(claim)
	_, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key,
		UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
	}, whole.Call)
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		return lambdaids.ErrClaimLost
	}
	return c.wrap(ctx, "confirm", claim.Key, err)
}

// ConfirmItem is Confirm as a part of the caller's own TransactWriteItems: what
// it writes beside it is applied exactly once. If the claim is lost the whole
// transaction is refused.
func (c *Claims) ConfirmItem(claim lambdaids.Claim) types.TransactWriteItem {
	return types.TransactWriteItem{Update: c.confirm(claim)}
}

func (c *Claims) confirm(claim lambdaids.Claim) *types.Update {
	return &types.Update{
		TableName:           &c.cfg.Table,
		Key:                 c.key(claim.Key),
		UpdateExpression:    aws.String("SET #state = :applied, #expires_at = :expires REMOVE #lease_until"),
		ConditionExpression: aws.String("#token = :token"),
		ExpressionAttributeNames: map[string]string{
			"#token": "token", "#state": "state", "#lease_until": "lease_until", "#expires_at": "expires_at",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text(claim.Token), ":applied": text(stateApplied),
			":expires": number(c.cfg.Now().Add(c.cfg.TTL).Unix()),
		},
	}
}

// Release implements lambdaids.Claims.
func (c *Claims) Release(ctx context.Context, claim lambdaids.Claim) error {
	_, err := c.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                &c.cfg.Table,
		Key:                      c.key(claim.Key),
		ConditionExpression:      aws.String("attribute_not_exists(#key) OR (#token = :token AND #state = :claimed)"),
		ExpressionAttributeNames: map[string]string{"#key": "key", "#token": "token", "#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text(claim.Token), ":claimed": text(stateClaimed),
		},
	}, whole.Call)
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		return lambdaids.ErrClaimLost
	}
	return c.wrap(ctx, "release", claim.Key, err)
}

func (c *Claims) key(k string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"key": text(c.cfg.Prefix + k)}
}

func (c *Claims) wrap(ctx context.Context, what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("dynamoclaims: %s %q in table %s: %w", what, key, c.cfg.Table, err)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
