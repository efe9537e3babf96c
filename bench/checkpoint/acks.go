package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

const (
	partitions = 1000
	interval   = time.Second // five times as often as the default
	parallel   = 64
	writeTakes = 20 * time.Millisecond
	window     = 4 // tickets a partition has outstanding
)

// slowStore is Memory at the pace of a distant database.
type slowStore struct {
	*checkpoint.Memory
	saves atomic.Int64
}

func (s *slowStore) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	s.saves.Add(1)
	time.Sleep(writeTakes)
	return s.Memory.Save(ctx, cp)
}

type opened struct {
	c    *checkpoint.Committer
	all  []*checkpoint.Partition[int64]
	next int64
}

func open(store checkpoint.Store, opts ...checkpoint.Option) (*opened, error) {
	o := &opened{c: checkpoint.NewCommitter(store, "bench", opts...)}
	for i := range partitions {
		p, _, err := checkpoint.Open(context.Background(), o.c, fmt.Sprint("shard-", i), checkpoint.Integer[int64]{})
		if err != nil {
			return nil, err
		}
		o.all = append(o.all, p)
	}
	return o, nil
}

type ticket = tracker.Ticket[checkpoint.At[int64]]

// settleMany tracks and acks n items over all partitions, the oldest of a
// partition's window last but one, so that frontiers move but not in order.
func settleMany(n int, track func(partition int, pos int64) ticket, from int64) int64 {
	var held [partitions][window]ticket
	rounds := n/partitions + 1
	for r := range rounds {
		for p := range partitions {
			at := r % window
			held[p][at] = track(p, from+int64(r))
			if at == window-1 || r == rounds-1 {
				for i := at; i >= 0; i-- {
					held[p][i].Ack()
				}
			}
		}
	}
	return from + int64(rounds)
}

func acks(s *report.Suite) error {
	ctx := context.Background()
	store := &slowStore{Memory: checkpoint.NewMemory()}
	slow, err := open(store, checkpoint.Interval(interval), checkpoint.Parallel(parallel))
	if err != nil {
		return err
	}
	bare := make([]*tracker.Frontier[checkpoint.At[int64]], partitions)
	for i := range bare {
		bare[i] = tracker.New[checkpoint.At[int64]](tracker.Config{})
	}
	var bareNext int64
	flushes := 0
	// An op is a record tracked and acked, on one of 1,000 partitions.
	s.Add("ack-no-store", func(b *testing.B) {
		// Nothing is left for the flusher to do beside this one.
		flushes++
		if err := slow.c.Flush(ctx); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		bareNext = settleMany(b.N, func(p int, pos int64) ticket {
			t, err := bare[p].Track(ctx, checkpoint.At[int64]{Position: pos}, 1)
			if err != nil {
				panic(err)
			}
			return t
		}, bareNext)
	})
	s.Add("ack-slow-store", func(b *testing.B) {
		slow.next = settleMany(b.N, func(p int, pos int64) ticket {
			t, err := slow.all[p].Track(ctx, pos, 1)
			if err != nil {
				panic(err)
			}
			return t
		}, slow.next)
	})
	began := time.Now()
	s.Run()
	took := time.Since(began)
	s.AtLeast("ack-throughput-with-slow-store", s.Ratio("ack-throughput-with-slow-store", "ack-no-store", "ack-slow-store"), 0.9)
	// Coalesced: at most one write a partition an interval, however many acks.
	// A flush ends an interval early.
	perInterval := float64(store.saves.Load()) / partitions / (took.Seconds()/interval.Seconds() + 1 + float64(flushes))
	s.Value("writes-a-partition-an-interval", perInterval, "writes")
	s.AtMost("writes-a-partition-an-interval", perInterval, 1)
	s.Value("acks-a-write", float64(slow.next)*partitions/float64(store.saves.Load()), "acks")
	return slow.c.Close(ctx)
}
