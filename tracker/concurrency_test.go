package tracker

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// One tracker, many ackers, each item acked by two of them; a watcher holds
// every position it sees to the invariants.
func TestT1_ManyAckersOfOneFrontier(t *testing.T) {
	const items, ackers = 20_000, 8
	var settled [items]atomic.Bool
	var hooks atomic.Int64
	f := New[int](Config{Limit: 200, OnAdvance: func() { hooks.Add(1) }})
	queue := make(chan Ticket[int], 300)
	at := make(map[uint64]int) // read by ackers only after it was sent
	var mu sync.Mutex

	var fails atomic.Int64
	var wg sync.WaitGroup
	var applied atomic.Int64
	for range ackers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			var held []Ticket[int]
			settle := func(tk Ticket[int]) {
				mu.Lock()
				n := at[tk.seq]
				mu.Unlock()
				// Marked before the ack: what the watcher sees settled was.
				settled[n].Store(true)
				if tk.Ack() {
					applied.Add(1)
				}
				if tk.Discard() {
					fails.Add(1)
				}
			}
			for tk := range queue {
				held = append(held, tk)
				if len(held) > 8 {
					k := r.IntN(len(held))
					settle(held[k])
					held[k] = held[len(held)-1]
					held = held[:len(held)-1]
				}
			}
			for _, tk := range held {
				settle(tk)
			}
		})
	}
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		last := -1
		for {
			s := f.Snapshot()
			if s.OK {
				if s.Position < last || !settled[s.Position].Load() {
					fails.Add(1)
				}
				for i := last + 1; i < s.Position; i++ {
					if !settled[i].Load() {
						fails.Add(1)
					}
				}
				last = s.Position
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range items {
		tk, err := f.Track(context.Background(), i, 1)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		at[tk.seq] = i
		mu.Unlock()
		queue <- tk
		if i%3 == 0 {
			queue <- tk
		}
	}
	close(queue)
	require.True(t, f.Seal())
	wg.Wait()
	<-f.Done()
	close(done)
	watch.Wait()
	require.Zero(t, fails.Load())
	require.EqualValues(t, items, applied.Load())
	requireAt(t, f, items-1)
	require.Positive(t, hooks.Load())
	require.EqualValues(t, (items+2)/3+items+(items+2)/3, f.Stats().Stale)
}

// Trackers, some of which give up, ackers, and an Abandon in the middle: every
// call ends, and every item is either settled or gone with the attempt.
func TestT7_AbandonAmongWaitersAndAckers(t *testing.T) {
	for round := range 20 {
		f := New[int](Config{Limit: 3})
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		var bad, tracked, acks atomic.Int64
		for range 6 {
			wg.Go(func() {
				for n := 0; ; n++ {
					own, stop := context.WithCancel(ctx)
					if n%4 == 3 {
						go stop()
					}
					tk, err := f.Track(own, n, 1+int64(n%4))
					stop()
					switch {
					case err == nil:
						tracked.Add(1)
						if tk.Ack() {
							acks.Add(1)
						}
					case errors.Is(err, ErrAbandoned):
						return
					case !errors.Is(err, context.Canceled):
						bad.Add(1)
						return
					}
				}
			})
		}
		for f.Stats().Acked < uint64(20+round) {
			runtime.Gosched()
		}
		require.True(t, f.Abandon())
		pos, _ := f.Position()
		wg.Wait()
		cancel()
		require.Zero(t, bad.Load())
		now, _ := f.Position()
		require.Equal(t, pos, now)
		s := f.Stats()
		require.EqualValues(t, tracked.Load(), s.Tracked)
		require.EqualValues(t, acks.Load(), s.Acked)
		require.Equal(t, s.Tracked-s.Acked, s.Stale)
		require.False(t, isClosed(f.Done()))
		require.NoError(t, f.check())
	}
}

// Nobody's wake-up is lost between many who wait and many who make room, with
// cancellation thrown in: if one were, this test would not end.
func TestT6_NoWakeUpIsLost(t *testing.T) {
	const callers, each = 16, 400
	f := New[int](Config{Limit: 2})
	tickets := make(chan Ticket[int], callers)
	var wg, ackers sync.WaitGroup
	for range 3 {
		ackers.Go(func() {
			for tk := range tickets {
				tk.Ack()
			}
		})
	}
	for c := range callers {
		wg.Go(func() {
			for n := 0; n < each; {
				ctx, cancel := context.WithCancel(context.Background())
				if (n+c)%5 == 0 {
					go cancel()
				}
				tk, err := f.Track(ctx, n, 1)
				cancel()
				if err == nil {
					tickets <- tk
				}
				n++
			}
		})
	}
	wg.Wait()
	close(tickets)
	ackers.Wait()
	require.NoError(t, f.check())
	s := f.Stats()
	require.Zero(t, s.Outstanding)
	require.Zero(t, s.Waiting)
	require.Zero(t, s.OutstandingWeight)
}
