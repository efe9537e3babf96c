package streamreader_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Read a stream from its beginning, print, stop, and save how far it got.
func Example() {
	ctx := context.Background()
	service := streamtest.New(streamtest.Config{}) // in place of AWS
	check(service.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewImage}))
	for _, id := range []string{"a", "b", "c"} {
		_, err := service.Put("orders", streamtest.Item{"id": &types.AttributeValueMemberS{Value: id}})
		check(err)
	}

	store := checkpoint.NewMemory() // a program that must survive takes dynamostore
	origin, fresh, err := checkpoint.Begin(ctx, store, "orders-to-stdout", checkpoint.Origin{
		Start:  checkpoint.StartTrimHorizon,
		Time:   time.Now(), // a real program takes the server's clock
		Source: service.StreamARN("orders"),
	})
	check(err)
	committer := checkpoint.NewCommitter(store, "orders-to-stdout")
	reader, err := streamreader.New(streamreader.Config{
		Client:    service.Streams(),
		StreamARN: service.StreamARN("orders"),
		Committer: committer,
		Origin:    origin,
		Fresh:     fresh,
	})
	check(err)

	for n := 0; n < 3; {
		batch, ack, err := reader.Read(ctx)
		check(err)
		for _, r := range batch.Records {
			fmt.Println(r.EventName, r.Dynamodb.Keys["id"].(*streamtypes.AttributeValueMemberS).Value)
			n++
		}
		check(ack(ctx, nil)) // delivered: only now may the position move
	}
	check(reader.Drain(ctx))
	check(committer.Close(ctx))
	_, _, err = reader.Read(ctx)
	fmt.Println(errors.Is(err, streamreader.ErrStopped))
	// Output:
	// INSERT a
	// INSERT b
	// INSERT c
	// true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
