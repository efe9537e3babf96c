package main

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/Jeffail/checkpoint"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/tracker"
)

// chunk is how many items are tracked before the ackers are let loose on them.
const chunk = 8192

// contended: one goroutine tracks, several ack, every one its share of a chunk.
func contended(s *report.Suite) {
	for _, n := range []int{2, 8} {
		s.Add(fmt.Sprintf("ackers%d", n), func(b *testing.B) {
			ctx := context.Background()
			var f tracker.Frontier[uint64]
			out := make([]tracker.Ticket[uint64], chunk)
			inChunks(b, n, func(i int) {
				out[i], _ = f.Track(ctx, uint64(i), 1)
			}, func(i int) { out[i].Ack() })
			if s := f.Stats(); s.Outstanding != 0 || s.Acked != s.Tracked {
				b.Fatal("not settled")
			}
		})
		s.Add(fmt.Sprintf("ackers%d-batch64", n), func(b *testing.B) {
			ctx := context.Background()
			var f tracker.Frontier[uint64]
			items := make([]tracker.Item[uint64], chunk)
			for i := range items {
				items[i] = tracker.Item[uint64]{Position: uint64(i), Weight: 1}
			}
			out := make([]tracker.Ticket[uint64], 0, chunk)
			for done := 0; done < b.N; done += chunk {
				k := min(chunk, b.N-done)
				out, _ = f.TrackAll(ctx, items[:k], out[:0])
				var wg sync.WaitGroup
				for a := range n {
					wg.Go(func() {
						for i := a * 64; i < k; i += n * 64 {
							tracker.AckAll(out[i:min(i+64, k)])
						}
					})
				}
				wg.Wait()
			}
			if f.Stats().Outstanding != 0 {
				b.Fatal("not settled")
			}
		})
		s.Add(fmt.Sprintf("ackers%d-capped", n), func(b *testing.B) {
			ctx := context.Background()
			c := checkpoint.NewCapped[uint64](1 << 20)
			out := make([]func() *uint64, chunk)
			inChunks(b, n, func(i int) {
				out[i], _ = c.Track(ctx, uint64(i), 1)
			}, func(i int) { out[i]() })
		})
		s.Add(fmt.Sprintf("ackers%d-uncapped", n), func(b *testing.B) {
			var mu sync.Mutex
			c := checkpoint.NewUncapped[uint64]()
			out := make([]func() *uint64, chunk)
			inChunks(b, n, func(i int) {
				mu.Lock()
				out[i] = c.Track(uint64(i), 1)
				mu.Unlock()
			}, func(i int) {
				mu.Lock()
				out[i]()
				mu.Unlock()
			})
		})
	}
	s.Run()
	for _, n := range []int{2, 8} {
		name := fmt.Sprintf("ackers%d", n)
		s.Ratio("capped/"+name, name+"-capped", name)
		s.Ratio("uncapped/"+name, name+"-uncapped", name)
		s.Ratio("uncapped/"+name+"-batch64", name+"-uncapped", name+"-batch64")
	}
}

// inChunks tracks and acks b.N items.
func inChunks(b *testing.B, ackers int, track, ack func(i int)) {
	for done := 0; done < b.N; done += chunk {
		n := min(chunk, b.N-done)
		for i := range n {
			track(i)
		}
		var wg sync.WaitGroup
		for a := range ackers {
			wg.Go(func() {
				for i := a; i < n; i += ackers {
					ack(i)
				}
			})
		}
		wg.Wait()
	}
}
