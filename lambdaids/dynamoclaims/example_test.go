package dynamoclaims_test

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/dynamoclaims"
)

// Each message adds to a balance exactly once: the transaction that adds confirms
// the message's claim, and is refused if the claim is not ours any more.
func ExampleClaims_ConfirmItem() {
	var client *dynamodb.Client // dynamodb.NewFromConfig(cfg)
	claims := dynamoclaims.New(client, dynamoclaims.Config{Table: "claims", TTL: 14 * 24 * time.Hour})

	add := func(ctx context.Context, m *events.SQSMessage, c lambdaids.Claim) error {
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			claims.ConfirmItem(c),
			{Update: &types.Update{
				TableName:                 aws.String("balances"),
				Key:                       map[string]types.AttributeValue{"account": &types.AttributeValueMemberS{Value: awsevents.SQSGroup(m)}},
				UpdateExpression:          aws.String("ADD amount :n"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: m.Body}},
			}},
		}})
		return err
	}
	h := awsevents.SQS(lambdaids.DedupAtomic(claims, awsevents.SQSKey, 30*time.Second, add), awsevents.SQSConfig{})
	_ = h.Handle // lambda.Start(h.Handle)
}
