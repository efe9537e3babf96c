package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/Jeffail/checkpoint"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/tracker"
)

const window = 1024

// picks says which ticket of a window is acked next. It is drawn beforehand, so
// that nobody's figure contains the drawing.
var picks = func() (p [1 << 16]uint16) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = uint16(r.IntN(window))
	}
	return p
}()

// ackOut is a peer's receipt on its way to whoever delivers.
var ackOut func() *uint64

// single: one goroutine, one partition, one processor. What a tracker leaves
// behind for the collector, and the goroutines it starts, are its costs too:
// more processors would do that work beside it, unseen, as long as they are
// idle. The ratios with all processors are printed last.
func single(s *report.Suite) {
	processors := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(processors)

	s.Add("floor", benchFloor)

	s.Add("inorder", benchInOrder)
	s.Add("inorder-string", benchInOrderString)
	s.Add("inorder-limit", benchInOrderLimit)
	s.Add("inorder-capped", benchInOrderCapped)
	s.Add("inorder-uncapped", benchInOrderUncapped)
	s.Add("inorder-heap", benchInOrderHeap)

	s.Add("window1024", benchWindow)
	s.Add("window1024-capped", benchWindowCapped)
	s.Add("window1024-uncapped", benchWindowUncapped)
	s.Add("window1024-heap", benchWindowHeap)

	s.Add("batch64", benchBatch64)

	s.Add("inorder-spread", spread(processors, benchInOrder))
	s.Add("inorder-capped-spread", spread(processors, benchInOrderCapped))
	s.Add("inorder-uncapped-spread", spread(processors, benchInOrderUncapped))
	s.Run()

	s.AtMost("inorder/floor", s.Ratio("inorder/floor", "inorder", "floor"), 1.5)
	s.AtMost("window1024/floor", s.Ratio("window1024/floor", "window1024", "floor"), 1.5)
	s.AtMost("batch64/floor", s.RatioPer("batch64/floor", "batch64", 64, "floor", 1), 0.4)
	s.AtLeast("capped/inorder", s.Ratio("capped/inorder", "inorder-capped", "inorder"), 25)
	s.AtLeast("capped/window1024", s.Ratio("capped/window1024", "window1024-capped", "window1024"), 25)
	s.AtLeast("uncapped/inorder", s.Ratio("uncapped/inorder", "inorder-uncapped", "inorder"), 2.5)
	s.AtLeast("uncapped/window1024", s.Ratio("uncapped/window1024", "window1024-uncapped", "window1024"), 2.5)
	s.Ratio("heap/inorder", "inorder-heap", "inorder")
	s.Ratio("heap/window1024", "window1024-heap", "window1024")
	s.Ratio("capped/inorder-spread", "inorder-capped-spread", "inorder-spread")
	s.Ratio("uncapped/inorder-spread", "inorder-uncapped-spread", "inorder-spread")
}

// spread runs f with as many processors as given.
func spread(processors int, f func(*testing.B)) func(*testing.B) {
	return func(b *testing.B) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		b.ResetTimer()
		f(b)
	}
}

func benchFloor(b *testing.B) {
	var mu sync.Mutex
	var n int
	for range b.N {
		mu.Lock()
		n++
		mu.Unlock()
		mu.Lock()
		n--
		mu.Unlock()
	}
	if n != 0 {
		b.Fatal("lost a count")
	}
}

func benchInOrder(b *testing.B) { inOrder(b, new(tracker.Frontier[uint64])) }

func benchInOrderLimit(b *testing.B) {
	inOrder(b, tracker.New[uint64](tracker.Config{Limit: 1 << 20}))
}

func inOrder(b *testing.B, f *tracker.Frontier[uint64]) {
	ctx := context.Background()
	for i := range b.N {
		t, err := f.Track(ctx, uint64(i), 1)
		if err != nil || !t.Ack() {
			b.Fatal("not settled", err)
		}
	}
	mustBeAt(b, f, uint64(b.N-1))
}

func benchInOrderString(b *testing.B) {
	ctx := context.Background()
	var f tracker.Frontier[string]
	for range b.N {
		t, err := f.Track(ctx, "111100000000000000001", 1)
		if err != nil || !t.Ack() {
			b.Fatal("not settled", err)
		}
	}
}

func benchInOrderCapped(b *testing.B) {
	ctx := context.Background()
	c := checkpoint.NewCapped[uint64](1 << 20)
	for i := range b.N {
		var err error
		if ackOut, err = c.Track(ctx, uint64(i), 1); err != nil {
			b.Fatal(err)
		}
		if *ackOut() != uint64(i) {
			b.Fatal("not settled")
		}
	}
}

func benchInOrderUncapped(b *testing.B) {
	var mu sync.Mutex
	c := checkpoint.NewUncapped[uint64]()
	for i := range b.N {
		mu.Lock()
		ackOut = c.Track(uint64(i), 1)
		mu.Unlock()
		mu.Lock()
		high := ackOut()
		mu.Unlock()
		if *high != uint64(i) {
			b.Fatal("not settled")
		}
	}
}

func benchInOrderHeap(b *testing.B) {
	h := newHeapTracker()
	for i := range b.N {
		h.ack(h.track(uint64(i)))
	}
	if h.at != uint64(b.N-1) {
		b.Fatal("not settled")
	}
}

func benchWindow(b *testing.B) {
	ctx := context.Background()
	var f tracker.Frontier[uint64]
	var out [window]tracker.Ticket[uint64]
	for i := range out {
		out[i], _ = f.Track(ctx, uint64(i), 1)
	}
	b.ResetTimer()
	for i := range b.N {
		k := picks[i&(len(picks)-1)]
		if !out[k].Ack() {
			b.Fatal("not settled")
		}
		var err error
		if out[k], err = f.Track(ctx, uint64(i), 1); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	tracker.AckAll(out[:])
	mustBeAt(b, &f, uint64(b.N-1))
}

func benchWindowCapped(b *testing.B) {
	ctx := context.Background()
	c := checkpoint.NewCapped[uint64](1 << 20)
	var out [window]func() *uint64
	for i := range out {
		out[i], _ = c.Track(ctx, uint64(i), 1)
	}
	b.ResetTimer()
	for i := range b.N {
		k := picks[i&(len(picks)-1)]
		out[k]()
		out[k], _ = c.Track(ctx, uint64(i), 1)
	}
}

func benchWindowUncapped(b *testing.B) {
	var mu sync.Mutex
	c := checkpoint.NewUncapped[uint64]()
	var out [window]func() *uint64
	for i := range out {
		out[i] = c.Track(uint64(i), 1)
	}
	b.ResetTimer()
	for i := range b.N {
		k := picks[i&(len(picks)-1)]
		mu.Lock()
		out[k]()
		mu.Unlock()
		mu.Lock()
		out[k] = c.Track(uint64(i), 1)
		mu.Unlock()
	}
}

func benchWindowHeap(b *testing.B) {
	h := newHeapTracker()
	var out [window]uint64
	for i := range out {
		out[i] = h.track(uint64(i))
	}
	b.ResetTimer()
	for i := range b.N {
		k := picks[i&(len(picks)-1)]
		h.ack(out[k])
		out[k] = h.track(uint64(i))
	}
}

func benchBatch64(b *testing.B) {
	ctx := context.Background()
	var f tracker.Frontier[uint64]
	items := make([]tracker.Item[uint64], 64)
	for i := range items {
		items[i] = tracker.Item[uint64]{Position: uint64(i), Weight: 1}
	}
	out := make([]tracker.Ticket[uint64], 0, 64)
	for range b.N {
		var err error
		if out, err = f.TrackAll(ctx, items, out[:0]); err != nil {
			b.Fatal(err)
		}
		if tracker.AckAll(out) != 64 {
			b.Fatal("not settled")
		}
	}
	mustBeAt(b, &f, 63)
}

func mustBeAt(b *testing.B, f *tracker.Frontier[uint64], want uint64) {
	if pos, ok := f.Position(); !ok || pos != want {
		b.Fatalf("frontier at %d, %v, not at %d", pos, ok, want)
	}
}
