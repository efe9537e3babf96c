package main

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/Jeffail/checkpoint"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/tracker"
)

// memory: bytes of heap, everything that the tracker needs for what it holds.
// "with receipt" adds what a caller keeps in order to ack: a Ticket, or a func
// and what it closes over.
func memory(s *report.Suite) {
	held[uint64](s, "uint64", func(i int) uint64 { return uint64(i) })
	held[string](s, "string", func(int) string { return "111100000000000000001" })

	ctx := context.Background()
	acks := make([]func() *uint64, many)
	var c *checkpoint.Capped[uint64]
	s.Value("capped/outstanding-uint64-with-receipt", grown(func() {
		c = checkpoint.NewCapped[uint64](many)
		for i := range acks {
			acks[i], _ = c.Track(ctx, uint64(i), 1)
		}
	})/many+float64(unsafe.Sizeof(acks[0])), "B/item")
	runtime.KeepAlive(c)
	runtime.KeepAlive(acks)

	h := newHeapTracker()
	s.Value("heap/outstanding-uint64-with-receipt", grown(func() {
		for i := range many {
			h.track(uint64(i))
		}
	})/many+8, "B/item")
	runtime.KeepAlive(h)

	const settled = 10_000_000
	var f tracker.Frontier[uint64]
	v := grown(func() {
		f.Track(ctx, 0, 1) // stuck
		for i := range settled {
			t, _ := f.Track(ctx, uint64(i), 1)
			t.Ack()
		}
	})
	s.Value("stuck-with-10000000-settled", v, "B")
	s.AtMost("stuck-with-10000000-settled", v, 100_000)
	runtime.KeepAlive(&f)
}

func held[P any](s *report.Suite, name string, pos func(i int) P) {
	ctx := context.Background()
	tickets := make([]tracker.Ticket[P], many)
	var f tracker.Frontier[P]
	peak := grown(func() {
		for i := range tickets {
			tickets[i], _ = f.Track(ctx, pos(i), 1)
		}
	})
	s.Value("outstanding-"+name, peak/many, "B/item")
	s.Value("outstanding-"+name+"-with-receipt", peak/many+float64(unsafe.Sizeof(tickets[0])), "B/item")
	// Memory comes back although one item, in the middle, stays out.
	left := peak + grown(func() {
		for i, t := range tickets {
			if i != many/2 && !t.Ack() {
				panic("not settled")
			}
		}
	})
	s.Value("after-burst-"+name, left, "B")
	s.AtMost("after-burst-"+name, left, 200_000)
	runtime.KeepAlive(tickets)
	runtime.KeepAlive(&f)
}

// grown is how much more heap is in use after f.
func grown(f func()) float64 {
	before := heapInUse()
	f()
	return heapInUse() - before
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
