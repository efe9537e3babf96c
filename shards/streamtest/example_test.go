package streamtest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// A table with a stream, a rotation, and the real SDK reading the closed shard.
func Example() {
	ctx := context.Background()
	s := streamtest.New(streamtest.Config{})
	if err := s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewImage}); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := s.Put("orders", streamtest.Item{"id": &types.AttributeValueMemberS{Value: id}}); err != nil {
			log.Fatal(err)
		}
	}
	parent := s.Shards("orders")[0].ID
	if err := s.Rotate("orders"); err != nil {
		log.Fatal(err)
	}

	client := dynamodbstreams.NewFromConfig(s.AWSConfig())
	arn := s.StreamARN("orders")
	it, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: &parent, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		log.Fatal(err)
	}
	page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range page.Records {
		fmt.Println(r.EventName, r.Dynamodb.Keys["id"].(*streams.AttributeValueMemberS).Value)
	}
	fmt.Println("ended:", page.NextShardIterator == nil)

	// Output:
	// INSERT a
	// INSERT b
	// ended: true
}

// The next two calls fail, whatever they are about.
func ExampleService_FailNext() {
	s := streamtest.New(streamtest.Config{})
	s.FailNext("ListStreams", streamtest.LimitExceeded, 2)
	for range 3 {
		_, err := s.Streams().ListStreams(context.Background(), &dynamodbstreams.ListStreamsInput{})
		fmt.Println(err)
	}
	fmt.Printf("%+v\n", s.Calls()["ListStreams"])

	// Output:
	// operation error DynamoDB Streams: ListStreams, LimitExceededException: Rate of requests exceeded for the shard or stream
	// operation error DynamoDB Streams: ListStreams, LimitExceededException: Rate of requests exceeded for the shard or stream
	// <nil>
	// {Calls:3 Failed:2 Faults:2 OverLimit:0 PeakRate:0}
}
