package checkpoint_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ackgate/ackgate/checkpoint"
)

// A process reads three records and is restarted. The second record was not
// delivered when it ended, so the next one resumes behind the first, although
// the third was delivered.
func Example() {
	ctx := context.Background()
	store := checkpoint.NewMemory() // dynamostore.New(…) in earnest

	c := checkpoint.NewCommitter(store, "orders-to-search")
	p, _, err := checkpoint.Open(ctx, c, "shard-1", checkpoint.Integer[int]{})
	if err != nil {
		log.Fatal(err)
	}
	first, _ := p.Track(ctx, 101, 1)
	_, _ = p.Track(ctx, 102, 1)
	third, _ := p.Track(ctx, 103, 1)
	third.Ack()
	first.Ack()
	if err := c.Close(ctx); err != nil {
		log.Fatal(err)
	}

	c = checkpoint.NewCommitter(store, "orders-to-search")
	_, resumed, err := checkpoint.Open(ctx, c, "shard-1", checkpoint.Integer[int]{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("resume behind", resumed.Position)
	if err := c.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: resume behind 101
}

// A partition that ends is sealed, and is complete once everything is settled
// and the store knows it.
func ExamplePartition_Seal() {
	ctx := context.Background()
	store := checkpoint.NewMemory()
	c := checkpoint.NewCommitter(store, "orders-to-search")
	p, _, err := checkpoint.Open(ctx, c, "segment-1", checkpoint.Text[string]{})
	if err != nil {
		log.Fatal(err)
	}
	last, _ := p.Track(ctx, "order-9", 1)
	p.Seal()
	last.Ack()
	<-p.Committed()
	cp, _ := store.Load(ctx, p.Key())
	fmt.Println(cp.Position, cp.Complete)
	_ = c.Close(ctx)
	// Output: order-9 true
}

// The source is told only what is durable.
func ExampleHooks() {
	ctx := context.Background()
	tell := checkpoint.Hooks{Committed: func(cp checkpoint.Checkpoint) {
		fmt.Println("the slot may advance to", cp.Position)
	}}
	c := checkpoint.NewCommitter(checkpoint.NewMemory(), "orders-to-search", checkpoint.WithHooks(tell))
	p, _, err := checkpoint.Open(ctx, c, "slot", checkpoint.Integer[uint64]{})
	if err != nil {
		log.Fatal(err)
	}
	for lsn := range uint64(3) {
		t, _ := p.Track(ctx, lsn, 1)
		t.Ack()
	}
	_ = c.Close(ctx)
	// Output: the slot may advance to 2
}
