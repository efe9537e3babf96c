package dynamostore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func Example() {
	ctx := context.Background()
	cfg := streamtest.New(streamtest.Config{}).AWSConfig() // yours comes from the SDK's config package

	client := dynamodb.NewFromConfig(cfg)
	if err := dynamostore.EnsureTable(ctx, client, "ackgate-checkpoints"); err != nil {
		log.Fatal(err)
	}
	store := dynamostore.New(client, "ackgate-checkpoints")
	committer := checkpoint.NewCommitter(store, "orders-to-search")

	partition, _, err := checkpoint.Open(ctx, committer, "kafka/orders/0", checkpoint.Integer[int64]{})
	if err != nil {
		log.Fatal(err)
	}
	ticket, err := partition.Track(ctx, 41, 1) // read the record at offset 41 …
	if err != nil {
		log.Fatal(err)
	}
	ticket.Ack() // … and delivered it
	if err := committer.Close(ctx); err != nil {
		log.Fatal(err)
	}

	row, err := store.Load(ctx, partition.Key())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row)
	// Output: orders-to-search/kafka/orders/0 position="41" fence=1 revision=1
}
