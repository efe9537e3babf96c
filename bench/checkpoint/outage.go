package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/checkpoint"
)

// downStore refuses every save while it is down.
type downStore struct {
	*checkpoint.Memory
	down atomic.Bool
}

func (d *downStore) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	if d.down.Load() {
		return errors.New("the store is down")
	}
	return d.Memory.Save(ctx, cp)
}

// outage acks millions of records while the store is down, and says what that
// left in memory: it must be nothing that grows with the acks.
func outage(s *report.Suite) error {
	ctx := context.Background()
	store := &downStore{Memory: checkpoint.NewMemory()}
	o, err := open(store)
	if err != nil {
		return err
	}
	store.down.Store(true)
	ack := func(n int) error {
		for range n {
			o.next++
			for _, p := range o.all {
				t, err := p.Track(ctx, o.next, 1)
				if err != nil {
					return err
				}
				t.Ack()
			}
		}
		return nil
	}
	if err := ack(1); err != nil {
		return err
	}
	before := heap()
	const perPartition = 3000
	if err := ack(perPartition); err != nil {
		return err
	}
	growth := max(0, float64(heap())-float64(before)) / partitions
	s.Value("acks-while-down", perPartition*partitions, "acks")
	s.Value("memory-while-down", growth, "bytes/partition")
	s.AtMost("memory-while-down", growth, 256)
	store.down.Store(false)
	return o.c.Close(ctx)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
