package tablescan_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// A table read once, in four segments, with resume. Against AWS, Client is a
// *dynamodb.Client and the store a dynamostore.
func Example() {
	ctx := context.Background()
	table := streamtest.New(streamtest.Config{})
	if err := table.CreateTable(streamtest.Table{Name: "orders", Hash: "id"}); err != nil {
		panic(err)
	}
	for i := range 100 {
		if _, err := table.Put("orders", streamtest.Item{"id": &types.AttributeValueMemberS{Value: strconv.Itoa(i)}}); err != nil {
			panic(err)
		}
	}

	committer := checkpoint.NewCommitter(checkpoint.NewMemory(), "orders-to-search")
	scanner, err := tablescan.New(tablescan.Config{Client: table.Dynamo(), Table: "orders", Segments: 4, ReadUnits: 500})
	if err != nil {
		panic(err)
	}
	runner, err := backfill.New(backfill.BackfillOnly(scanner), backfill.Config{
		Committer: committer,
		Mode:      backfill.BackfillOnlyMode,
	})
	if err != nil {
		panic(err)
	}
	items := 0
	for {
		page, ack, err := runner.Read(ctx)
		if errors.Is(err, backfill.ErrEnd) {
			break
		}
		if err != nil {
			panic(err)
		}
		items += len(page.Items)
		if err := ack(ctx, nil); err != nil {
			panic(err)
		}
	}
	p := scanner.Progress()
	fmt.Println(items, "items,", p.SegmentsDone, "of", p.Segments, "segments,", runner.Phase())
	if err := errors.Join(runner.Close(ctx), committer.Close(ctx)); err != nil {
		panic(err)
	}
	// Output:
	// 100 items, 4 of 4 segments, Finished
}
