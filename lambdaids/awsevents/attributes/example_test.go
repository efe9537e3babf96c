package attributes_test

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/lambdaids/awsevents/attributes"
)

func ExampleImage() {
	r := events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{
		NewImage: map[string]events.DynamoDBAttributeValue{"qty": events.NewNumberAttribute("12345678901234567890.10")},
	}}
	image, err := attributes.Image(r.Change.NewImage) // ready for attributevalue.UnmarshalMap, or a PutItem
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(image["qty"].(*types.AttributeValueMemberN).Value)
	// Output: 12345678901234567890.10
}
