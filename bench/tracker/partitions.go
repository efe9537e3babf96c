package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/Jeffail/checkpoint"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/tracker"
)

const (
	members = 10_000
	marks   = 100_000
)

// partitions: many frontiers in one Group, and the minimum over many.
func partitions(s *report.Suite) {
	s.Add("group10000", func(b *testing.B) {
		ctx := context.Background()
		g := tracker.NewGroup[int, uint64](tracker.GroupConfig[int]{Share: 64, Limit: 1 << 16})
		fs := make([]*tracker.Frontier[uint64], members)
		for k := range fs {
			fs[k], _ = g.Add(k)
		}
		byEight(b, func(k int, pos uint64) {
			t, err := fs[k].Track(ctx, pos, 1)
			if err != nil || !t.Ack() {
				panic("not settled")
			}
		})
		if s := g.Stats(); s.Outstanding != 0 || s.Lent != 0 {
			b.Fatal("not settled")
		}
	})
	s.Add("group10000-capped", func(b *testing.B) {
		ctx := context.Background()
		cs := make([]*checkpoint.Capped[uint64], members)
		for k := range cs {
			cs[k] = checkpoint.NewCapped[uint64](64)
		}
		byEight(b, func(k int, pos uint64) {
			ack, _ := cs[k].Track(ctx, pos, 1)
			ack()
		})
	})
	s.Add("group10000-uncapped", func(b *testing.B) {
		type locked struct {
			sync.Mutex
			c *checkpoint.Uncapped[uint64]
		}
		cs := make([]locked, members)
		for k := range cs {
			cs[k].c = checkpoint.NewUncapped[uint64]()
		}
		byEight(b, func(k int, pos uint64) {
			cs[k].Lock()
			ack := cs[k].c.Track(pos, 1)
			cs[k].Unlock()
			cs[k].Lock()
			ack()
			cs[k].Unlock()
		})
	})

	w, at := bigWatermark()
	r := rand.New(rand.NewPCG(5, 6))
	s.Add("watermark-advance", func(b *testing.B) {
		for range b.N {
			k := r.IntN(marks)
			at[k] += 1 + uint64(r.IntN(marks))
			if !w.Advance(k, at[k]) {
				b.Fatal("did not move")
			}
		}
	})
	s.Add("watermark-read", func(b *testing.B) {
		for range b.N {
			if _, _, ok := w.Low(); !ok {
				b.Fatal("no watermark")
			}
		}
	})
	s.Run()
	s.Ratio("capped/group10000", "group10000-capped", "group10000")
	s.Ratio("uncapped/group10000", "group10000-uncapped", "group10000")
}

func bigWatermark() (*tracker.Watermark[int, uint64], []uint64) {
	w := tracker.NewWatermark[int](cmp.Compare[uint64])
	at := make([]uint64, marks)
	for k := range at {
		w.Add(k)
		at[k] = uint64(k)
		w.Advance(k, at[k])
	}
	return w, at
}

// byEight shares b.N operations among eight goroutines, each with its own
// eighth of the partitions, as readers have.
func byEight(b *testing.B, op func(k int, pos uint64)) {
	const workers = 8
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range workers {
		wg.Go(func() {
			n := (b.N + workers - 1) / workers
			for i := range n {
				op(i%(members/workers)*workers+g, uint64(i))
			}
		})
	}
	wg.Wait()
}
