package tracker_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ackgate/ackgate/tracker"
)

func Example() {
	ctx := context.Background()
	var f tracker.Frontier[int]

	first, _ := f.Track(ctx, 101, 1)
	second, _ := f.Track(ctx, 102, 1)

	// Acks come in any order; the position waits for the first.
	second.Ack()
	fmt.Println(f.Position())
	first.Ack()
	fmt.Println(f.Position())

	// Output:
	// 0 false
	// 102 true
}

// A transaction that arrives in two batches: a restart must not begin inside.
func ExampleFrontier_TrackHold() {
	ctx := context.Background()
	var f tracker.Frontier[string]

	before, _ := f.Track(ctx, "commit 1", 1)
	head, _ := f.TrackHold(ctx, 1)
	tail, _ := f.Track(ctx, "commit 2", 1)

	before.Ack()
	head.Ack()
	fmt.Println(f.Position())
	tail.Ack()
	fmt.Println(f.Position())

	// Output:
	// commit 1 true
	// commit 2 true
}

// One partition is stuck; the others go on.
func ExampleGroup() {
	g := tracker.NewGroup[string, int](tracker.GroupConfig[string]{Share: 1, Limit: 1})
	stuck, _ := g.Add("stuck")
	lively, _ := g.Add("lively")

	_, _ = stuck.TryTrack(1, 1)
	_, _ = stuck.TryTrack(2, 1) // borrowed
	_, err := stuck.TryTrack(3, 1)
	fmt.Println(err)

	t, err := lively.TryTrack(1, 1)
	fmt.Println(t.Ack(), err)

	// Output:
	// tracker: limit reached: settle outstanding items first
	// true <nil>
}

func ExampleWatermark() {
	w := tracker.NewWatermark[string](cmp.Compare[int])
	w.Add("a")
	w.Add("b")
	w.Advance("a", 7)
	_, _, ok := w.Low()
	fmt.Println(ok) // b may be anywhere
	w.Advance("b", 5)
	fmt.Println(w.Low())

	// Output:
	// false
	// 5 b true
}
