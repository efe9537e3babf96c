package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/Jeffail/checkpoint"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/tracker"
)

const many = 1_000_000

// manyPicks is picks for a million: every access misses the caches.
var manyPicks = func() (p [1 << 18]uint32) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range p {
		p[i] = uint32(r.IntN(many))
	}
	return p
}()

// million: a million items are out all the time, acked at random. They are
// tracked once, before anything is measured. Capped is left out: it would be
// its goroutines that are measured again.
func million(s *report.Suite) {
	ctx := context.Background()
	var f tracker.Frontier[uint64]
	tickets := make([]tracker.Ticket[uint64], many)
	var mu sync.Mutex
	u := checkpoint.NewUncapped[uint64]()
	acks := make([]func() *uint64, many)
	h := newHeapTracker()
	ids := make([]uint64, many)
	for i := range many {
		tickets[i], _ = f.Track(ctx, uint64(i), 1)
		acks[i] = u.Track(uint64(i), 1)
		ids[i] = h.track(uint64(i))
	}
	at := 0
	pick := func() uint32 {
		at++
		return manyPicks[at&(len(manyPicks)-1)]
	}
	s.Add("million", func(b *testing.B) {
		for i := range b.N {
			k := pick()
			if !tickets[k].Ack() {
				b.Fatal("not settled")
			}
			tickets[k], _ = f.Track(ctx, uint64(i), 1)
		}
	})
	s.Add("million-uncapped", func(b *testing.B) {
		for i := range b.N {
			k := pick()
			mu.Lock()
			acks[k]()
			mu.Unlock()
			mu.Lock()
			acks[k] = u.Track(uint64(i), 1)
			mu.Unlock()
		}
	})
	s.Add("million-heap", func(b *testing.B) {
		for i := range b.N {
			k := pick()
			h.ack(ids[k])
			ids[k] = h.track(uint64(i))
		}
	})
	s.Run()
	s.Ratio("uncapped/million", "million-uncapped", "million")
	s.Ratio("heap/million", "million-heap", "million")
}
