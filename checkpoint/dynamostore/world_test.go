package dynamostore_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
	"github.com/ackgate/ackgate/tracker"
)

// world is one partition of the numbers 1, 2, 3, … and the processes that read
// it, one after another, while those that were replaced live on: they still
// deliver, ack and save. Each has the real SDK before a table that fails.
type world struct {
	table     *streamtest.Service
	readers   []*reader
	delivered map[int]bool
	last      int // the highest durable position seen
	complete  bool
}

type reader struct {
	committer *checkpoint.Committer
	partition *checkpoint.Partition[int]
	next      int
	open      []held
}

type held struct {
	n      int
	ticket tracker.Ticket[checkpoint.At[int]]
}

const items = 12 // of the partition; then it is sealed

// TestC1_WhatIsDurableWasDelivered: over the real requests of this package, the
// durable position never passes an undelivered item, never steps back, and
// completion is only there when all was delivered, whatever fails, is lost or
// comes late.
func TestC1_WhatIsDurableWasDelivered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			w := &world{table: streamtest.New(streamtest.Config{Seed: rapid.Uint64().Draw(rt, "seed")}), delivered: map[int]bool{}}
			defer w.stop()
			require.NoError(rt, dynamostore.EnsureTable(context.Background(), w.table.Dynamo(), "checkpoints"))
			w.start(rt)
			w.table.SetFaults(map[string]streamtest.FaultRates{"UpdateItem": {Throttle: .1, Internal: .1, Cut: .1, LostAnswer: .2, Hang: .05}})
			rt.Repeat(map[string]func(*rapid.T){
				"": w.check,
				"start": func(rt *rapid.T) {
					if len(w.readers) == 5 {
						rt.Skip("enough processes")
					}
					w.start(rt)
				},
				"read":  w.read,
				"ack":   w.ack,
				"flush": w.flush,
				"wait": func(rt *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
				},
			})
			// The table heals, and a last process finishes: all becomes durable.
			w.table.SetFaults(nil)
			w.start(rt)
			last := w.readers[len(w.readers)-1]
			for w.readWith(last) {
			}
			for len(last.open) > 0 {
				w.ackOf(last, 0)
			}
			<-last.partition.Committed()
			w.check(rt)
			require.True(rt, w.complete)
			w.stop()
			w.check(rt) // the late ones had nothing to add
		})
	})
}

// start is a new process that takes the partition over.
func (w *world) start(*rapid.T) {
	store := dynamostore.New(dynamodb.NewFromConfig(w.table.AWSConfig()), "checkpoints")
	c := checkpoint.NewCommitter(store, "orders", quiet, checkpoint.Interval(500*time.Millisecond), checkpoint.SaveTimeout(time.Second))
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		p, resumed, err := checkpoint.Open(ctx, c, "a", checkpoint.Integer[int]{})
		cancel()
		if err == nil {
			w.readers = append(w.readers, &reader{committer: c, partition: p, next: resumed.Position + 1})
			return
		}
	}
}

// readWith tracks the next item, or seals behind the last one; false: no more.
func (w *world) readWith(r *reader) bool {
	if r.next > items {
		r.partition.Seal()
		return false
	}
	ticket, err := r.partition.Track(context.Background(), r.next, 1)
	if err != nil { // replaced, or complete
		return false
	}
	r.open = append(r.open, held{r.next, ticket})
	r.next++
	return true
}

func (w *world) read(rt *rapid.T) {
	w.readWith(rapid.SampledFrom(w.readers).Draw(rt, "reader"))
}

// ackOf delivers first, whoever holds the partition by now, and then acks.
func (w *world) ackOf(r *reader, i int) {
	w.delivered[r.open[i].n] = true
	r.open[i].ticket.Ack()
	r.open = slices.Delete(r.open, i, i+1)
}

func (w *world) ack(rt *rapid.T) {
	r := rapid.SampledFrom(w.readers).Draw(rt, "reader")
	if len(r.open) == 0 {
		rt.Skip("nothing is outstanding")
	}
	w.ackOf(r, rapid.IntRange(0, len(r.open)-1).Draw(rt, "item"))
}

// flush: what a Flush without an error says is durable, is. A partition that was
// lost before is no part of a Flush.
func (w *world) flush(rt *rapid.T) {
	r := rapid.SampledFrom(w.readers).Draw(rt, "reader")
	frontier, _ := r.partition.Position()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.committer.Flush(ctx); err != nil || r.partition.Err() != nil {
		return
	}
	if position, _ := w.row(rt); position < frontier {
		rt.Fatalf("flushed up to %d, %d is durable", frontier, position)
	}
}

func (w *world) stop() {
	for _, r := range w.readers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		r.committer.Close(ctx)
		cancel()
	}
}

// row is what stands in the table, read past the Store.
func (w *world) row(rt *rapid.T) (position int, complete bool) {
	row, ok := w.table.Get("checkpoints", streamtest.Item{"pipeline": s("orders"), "partition": s("a")})
	if !ok {
		rt.Fatal("the row is gone")
	}
	if v, ok := row["position"].(*types.AttributeValueMemberS); ok {
		position, _ = strconv.Atoi(v.Value)
	}
	if v, ok := row["complete"].(*types.AttributeValueMemberBOOL); ok {
		complete = v.Value
	}
	return position, complete
}

func (w *world) check(rt *rapid.T) {
	position, complete := w.row(rt)
	for n := 1; n <= position; n++ {
		if !w.delivered[n] {
			rt.Fatalf("%d is durable, %d was not delivered", position, n)
		}
	}
	if position < w.last {
		rt.Fatalf("%d is durable, it was %d before", position, w.last)
	}
	if complete && len(w.delivered) < items {
		rt.Fatalf("complete with %d of %d delivered", len(w.delivered), items)
	}
	if w.complete && !complete {
		rt.Fatal("complete no more")
	}
	w.last, w.complete = position, complete
}
