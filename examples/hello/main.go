// Command hello shows the idea in one page: what is saved follows what was acked.
package main

import (
	"context"
	"fmt"

	"github.com/ackgate/ackgate/checkpoint"
)

func main() {
	ctx := context.Background()
	c := checkpoint.NewCommitter(checkpoint.NewMemory(), "hello")
	p, _, _ := checkpoint.Open(ctx, c, "numbers", checkpoint.Integer[int]{}) // claim, and find where to resume
	one, _ := p.Track(ctx, 1, 1)                                             // in read order, before delivery
	two, _ := p.Track(ctx, 2, 1)
	three, _ := p.Track(ctx, 3, 1)
	three.Ack() // delivered in another order: 2 is still out
	one.Ack()
	_ = c.Flush(ctx)
	fmt.Println(p.Durable()) // 1 true: a crash now reads 2 and 3 again
	two.Ack()
	_ = c.Drain(ctx)         // waits for every ticket, then saves
	fmt.Println(p.Durable()) // 3 true
	_ = c.Close(ctx)
}
