package storetest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// The first save is applied, but its answer is lost.
func ExampleNewFaulty() {
	ctx := context.Background()
	memory := checkpoint.NewMemory()
	store := storetest.NewFaulty(memory, func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpSave && c.N == 1 {
			return storetest.Fault{Kind: storetest.Lost}
		}
		return storetest.Fault{}
	})
	key := checkpoint.Key{Pipeline: "orders", Partition: "a"}
	cp, _ := store.Claim(ctx, key, "me")
	cp.Position, cp.Revision = "17", 1
	fmt.Println("lost:", errors.Is(store.Save(ctx, cp), storetest.ErrLost))
	row, _ := memory.Load(ctx, key)
	fmt.Println("applied:", row.Position)
	fmt.Println("again:", store.Save(ctx, cp))
	// Output:
	// lost: true
	// applied: 17
	// again: <nil>
}
