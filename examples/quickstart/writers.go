package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// writers keep changing the table. Each owns every n-th item, so that the
// changes of one item have one order.
type writers struct {
	service *streamtest.Service
	mu      sync.Mutex
	log     []write
	err     error
}

const writerCount = 3

// run makes the given number of changes, spread evenly over the duration.
func (w *writers) run(ctx context.Context, changes, items int, during time.Duration, label string, random func(uint64) *rand.Rand) {
	var group sync.WaitGroup
	start := time.Now()
	for n := range writerCount {
		group.Go(func() {
			r := random(uint64(100 + n))
			for i := n; i < changes; i += writerCount {
				if wait := time.Until(start.Add(during * time.Duration(i) / time.Duration(changes))); wait > 5*time.Millisecond {
					select {
					case <-time.After(wait):
					case <-ctx.Done():
						return
					}
				}
				id := seedID(r.IntN(max(1, items/writerCount))*writerCount + n)
				if r.IntN(20) == 0 { // a new item, or a change of one that was new
					id = fmt.Sprintf("new-%d-%d", n, r.IntN(200))
				}
				if err := w.change(id, fmt.Sprintf("%s-%d", label, i), r); err != nil {
					w.mu.Lock()
					w.err = err
					w.mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
}

func (w *writers) change(id, version string, r *rand.Rand) error {
	if _, exists := w.service.Get(tableName, key(id)); exists && r.IntN(10) == 0 {
		version = ""
	}
	// The log is held while the change is made, so that whoever sees the
	// change's line finds it in the log.
	w.mu.Lock()
	defer w.mu.Unlock()
	var c streamtest.Change
	var err error
	if version == "" {
		c, err = w.service.Delete(tableName, key(id))
	} else {
		c, err = w.service.Put(tableName, itemOf(id, version))
	}
	if err != nil {
		return err
	}
	w.log = append(w.log, write{id, version, c})
	return nil
}

func (w *writers) snapshot() ([]write, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log[:len(w.log):len(w.log)], w.err
}

func key(id string) streamtest.Item {
	return streamtest.Item{"id": &types.AttributeValueMemberS{Value: id}}
}

// reshard rotates and splits shards until ctx ends.
func reshard(ctx context.Context, s *streamtest.Service, r *rand.Rand) error {
	for {
		select {
		case <-time.After(time.Duration(500+r.IntN(1000)) * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
		var open []string
		for _, shard := range s.Shards(tableName) {
			if shard.Closed.IsZero() {
				open = append(open, shard.ID)
			}
		}
		one := open[r.IntN(len(open))]
		var err error
		switch choice := r.IntN(6); {
		case choice == 0:
			err = s.Rotate(tableName)
		case choice == 1 && len(open) < 8:
			_, err = s.Split(tableName, one)
		default:
			_, err = s.RotateShard(tableName, one)
		}
		if err != nil {
			return err
		}
	}
}
