package checkpoint_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

func TestC8_ARowThatCannotBeUnderstoodIsAnError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		store := checkpoint.NewMemory()
		key := checkpoint.Key{Pipeline: "orders", Partition: rapid.StringN(1, 20, 100).Draw(t, "partition")}
		if key.Validate() != nil {
			t.Skip()
		}
		cp, err := store.Claim(ctx, key, "another program")
		if err != nil {
			t.Fatal(err)
		}
		cp.Position = rapid.StringMatching(`[0-9]{0,3}[a-z{ ."+-][0-9a-z}]{0,5}`).Draw(t, "position")
		cp.Revision++
		cp.Complete = rapid.Bool().Draw(t, "complete")
		if err := store.Save(ctx, cp); err != nil {
			t.Fatal(err)
		}
		want, understood := checkpoint.Integer[int]{}.Decode(cp.Position)

		c := checkpoint.NewCommitter(store, "orders")
		p, resumed, err := checkpoint.Open(ctx, c, key.Partition, checkpoint.Integer[int]{})
		switch {
		case understood == nil: // such as "-1"
			if err != nil || !resumed.OK || resumed.Position != want {
				t.Fatalf("%q: %v, %v", cp.Position, resumed, err)
			}
		case !errors.Is(err, checkpoint.ErrBadRow) || p != nil || resumed.OK:
			t.Fatalf("%q: opened at %v: %v", cp.Position, resumed, err)
		case !strings.Contains(err.Error(), key.String()):
			t.Fatalf("the error does not name the key: %v", err)
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
		row, err := store.Load(ctx, key)
		if err != nil || row.Position != cp.Position || row.Complete != cp.Complete {
			t.Fatalf("the row was changed: %s, %v", row, err)
		}
	})
}

// A position that cannot be written is an error that Flush returns, and the
// partition goes on once the frontier can be written again.
func TestC5_APositionThatCannotBeEncodedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := checkpoint.NewMemory()
		c := checkpoint.NewCommitter(store, "orders", checkpoint.Logger(quiet))
		defer c.Close(ctx)
		p, _, err := checkpoint.Open(ctx, c, "a", checkpoint.Text[string]{})
		require.NoError(t, err)
		bad, err := p.Track(ctx, "\xff", 1)
		require.NoError(t, err)
		bad.Ack()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorContains(t, c.Flush(short), "encode the position of orders/a")
		good, err := p.Track(ctx, "b", 1)
		require.NoError(t, err)
		good.Ack()
		require.NoError(t, c.Flush(ctx))
		at, ok := p.Durable()
		require.True(t, ok)
		require.Equal(t, "b", at)
	})
}

// nameless is a Codec that breaks its word: "" would read as "nothing settled yet".
type nameless struct{ checkpoint.Text[string] }

func (nameless) Encode(string) (string, error) { return "", nil }

func TestC5_AnEmptyPositionIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemory()
		c := checkpoint.NewCommitter(store, "orders", checkpoint.Logger(quiet))
		p, _, err := checkpoint.Open(t.Context(), c, "a", nameless{})
		require.NoError(t, err)
		item, err := p.Track(t.Context(), "x", 1)
		require.NoError(t, err)
		item.Ack()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, c.Close(ctx), "encode the position of orders/a: checkpoint: a position may not be empty")
		row, err := store.Load(t.Context(), p.Key())
		require.NoError(t, err)
		require.Zero(t, row.Revision, "nothing was written")
	})
}

// While the store is down a million acks leave nothing behind, and goroutines
// stay as many as Parallel allows.
func TestC7_ADeadStoreCostsMemoryByPartitionNotByAck(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(hung(""))
		const partitions, rounds = 100, 2000
		atRest := runtime.NumGoroutine()
		var open []*checkpoint.Partition[int]
		for i := range partitions {
			open = append(open, b.open(b.c, string(rune('a'+i%26))+string(rune('a'+i/26))))
		}
		round := func(i int) {
			for _, p := range open {
				item, err := p.Track(t.Context(), i, 1)
				if err != nil {
					t.Fatal(err)
				}
				item.Ack()
			}
		}
		measure := func() (heap uint64, goroutines int) {
			time.Sleep(time.Minute)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc, runtime.NumGoroutine()
		}
		round(0)
		heapBefore, _ := measure()
		for i := range rounds {
			round(i + 1)
			if i%100 == 0 {
				time.Sleep(time.Second)
			}
		}
		heap, goroutines := measure()
		require.Less(t, heap, heapBefore+1<<20, "%d acks while the store was down", partitions*rounds)
		require.LessOrEqual(t, goroutines, atRest+1+4, "the flusher, and Parallel saves")
		b.works()
		require.NoError(t, b.c.Flush(t.Context()))
		require.Equal(t, "2000", b.row("aa").Position)
	}, checkpoint.Parallel(4))
}

// With Sync an ack that returned nil, in read order, is durable.
func TestC6_WithSyncAnAckIsDurable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(t *rapid.T) {
			memory := checkpoint.NewMemory()
			store := storetest.NewFaulty(memory, storetest.Seeded(rapid.Uint64().Draw(t, "seed"),
				storetest.Rates{Throttled: 0.2, Lost: 0.2, Hung: 0.1, Latency: time.Second}))
			c := checkpoint.NewCommitter(store, "orders", checkpoint.Sync(), checkpoint.Logger(quiet), checkpoint.SaveTimeout(2*time.Second))
			defer func() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_ = c.Close(ctx)
			}()
			var p *checkpoint.Partition[int]
			for p == nil {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				p, _, _ = checkpoint.Open(ctx, c, "a", checkpoint.Integer[int]{})
				cancel()
			}
			for i := 1; i <= 8; i++ {
				item, err := p.Track(context.Background(), i, 1)
				if err != nil {
					t.Fatal(err)
				}
				d := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(t, "within")
				ctx, cancel := context.WithTimeout(context.Background(), d)
				err = p.Ack(ctx, item)
				cancel()
				row, loadErr := memory.Load(context.Background(), p.Key())
				if loadErr != nil {
					t.Fatal(loadErr)
				}
				if err == nil && at(row) != i {
					t.Fatalf("acked %d, durable is %s", i, row)
				}
				if err != nil && ctx.Err() == nil {
					t.Fatal(err)
				}
				if err := p.Ack(context.Background(), item); !errors.Is(err, checkpoint.ErrStale) {
					t.Fatalf("a second ack: %v", err)
				}
			}
		})
	})
}

// A store that cannot be read, or a table that is missing, was taken for
// "nothing there yet".
func TestC8_AnUnreadableStoreIsNoFreshStart(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		b.fail(func(storetest.Call) storetest.Fault { return storetest.Fault{Kind: storetest.Throttled} })
		_, _, err := checkpoint.Open(t.Context(), b.c, "a", checkpoint.Integer[int]{})
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.ErrorContains(t, err, "orders/a")
		_, fresh, err := checkpoint.Begin(t.Context(), b.store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.False(t, fresh.Use())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = checkpoint.Open(ctx, b.c, "a", checkpoint.Integer[int]{})
		require.Equal(t, context.Canceled, err, "cancellation comes back raw")
	})
}
