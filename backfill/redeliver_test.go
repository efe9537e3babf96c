package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var errRefused = errors.New("test: refused")

// feed is a reader of numbered batches; it blocks when they are over.
type numbers struct {
	n     int
	limit int
	lanes int
	words map[int][]error // what the reader was told of each
	slow  map[int]chan struct{}
}

type numbered struct{ n, lane int }

func (f *numbers) read(ctx context.Context) (numbered, AckFunc, error) {
	if f.n >= f.limit {
		<-ctx.Done()
		return numbered{}, nil, ctx.Err()
	}
	n := f.n
	f.n++
	return numbered{n, n % f.lanes}, func(_ context.Context, err error) error {
		if c := f.slow[n]; c != nil {
			<-c
		}
		f.words[n] = append(f.words[n], err)
		return nil
	}, nil
}

func newNumbers(limit, lanes int) *numbers {
	return &numbers{limit: limit, lanes: lanes, words: map[int][]error{}, slow: map[int]chan struct{}{}}
}

func redeliver(t *testing.T, f *numbers, cfg RedeliverConfig[numbered]) *Redelivering[numbered] {
	t.Helper()
	if cfg.Partition == nil {
		cfg.Partition = func(b numbered) string { return fmt.Sprint(b.lane) }
	}
	d, err := Redeliver(f.read, cfg)
	require.NoError(t, err)
	d.now = clock()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_ = d.Close(ctx)
		d.cancel()
		synctest.Wait()
	})
	return d
}

// within reads for at most d.
func within(d *Redelivering[numbered], limit time.Duration) (numbered, AckFunc, error) {
	ctx, cancel := context.WithTimeout(bg, limit)
	defer cancel()
	return d.Read(ctx)
}

func TestRedeliveryKeepsTheOrderOfAPartition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			f := newNumbers(rapid.IntRange(1, 30).Draw(rt, "batches"), rapid.IntRange(1, 4).Draw(rt, "lanes"))
			maxHeld := rapid.IntRange(1, 8).Draw(rt, "held")
			d, err := Redeliver(f.read, RedeliverConfig[numbered]{
				Partition: func(b numbered) string { return fmt.Sprint(b.lane) }, MaxHeld: maxHeld,
			})
			require.NoError(rt, err)
			d.now = clock()
			type out struct {
				numbered
				ack AckFunc
			}
			var outs []out
			delivered := map[int][]int{} // by lane
			owners := map[int]int{}
			done := 0
			for done < f.limit {
				// When all are out, something has to be settled.
				if len(outs) > 0 && (rapid.Bool().Draw(rt, "settle") || len(outs) == min(f.lanes, maxHeld)) {
					i := rapid.IntRange(0, len(outs)-1).Draw(rt, "which")
					o := outs[i]
					outs = append(outs[:i], outs[i+1:]...)
					owners[o.n]--
					if rapid.IntRange(0, 2).Draw(rt, "nack") == 0 {
						require.NoError(rt, o.ack(bg, errRefused))
						require.Empty(rt, f.words[o.n], "the reader below hears only the last word")
					} else {
						delivered[o.lane] = append(delivered[o.lane], o.n)
						require.NoError(rt, o.ack(bg, nil))
						require.Equal(rt, []error{nil}, f.words[o.n])
						done++
					}
					require.ErrorIs(rt, o.ack(bg, nil), ErrStale)
					continue
				}
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				b, ack, err := d.Read(ctx)
				cancel()
				if errors.Is(err, ErrFlush) || errors.Is(err, context.DeadlineExceeded) {
					require.NotEmpty(rt, outs, "nothing is out, and nothing comes")
					continue
				}
				require.NoError(rt, err)
				owners[b.n]++
				require.Equal(rt, 1, owners[b.n], "two owners of one batch")
				outs = append(outs, out{b, ack})
				d.mu.Lock()
				require.NoError(rt, d.lanes.check())
				require.LessOrEqual(rt, d.lanes.held, maxHeld)
				d.mu.Unlock()
			}
			for lane, got := range delivered {
				for i, n := range got {
					require.Equal(rt, lane+i*f.lanes, n, "lane %d: %v", lane, got)
				}
			}
			require.NoError(rt, d.Close(bg))
			require.Zero(rt, d.Stats())
		})
	})
}

func TestRedeliveryBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := redeliver(t, newNumbers(1, 1), RedeliverConfig[numbered]{Backoff: Backoff{Min: time.Second, Max: 5 * time.Second}})
		for i, full := range []time.Duration{0, 1, 2, 4, 5, 5} {
			full *= time.Second
			began := time.Now()
			_, ack, err := within(d, time.Minute)
			require.NoError(t, err)
			took := time.Since(began)
			require.LessOrEqual(t, took, full, "attempt %d", i+1)
			require.GreaterOrEqual(t, took, full/2, "attempt %d", i+1)
			require.NoError(t, ack(bg, errRefused))
		}
	})
}

func TestRedeliveryDefaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newNumbers(1025, 1)
		d, err := Redeliver(f.read, RedeliverConfig[numbered]{})
		require.NoError(t, err)
		b, ack, err := within(d, time.Second)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, ack(bg, errRefused))
		again, ack, err := within(d, time.Second)
		require.NoError(t, err)
		require.Equal(t, b, again, "one partition, one at a time")
		require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
		require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
		began = time.Now()
		for _, at := range []time.Duration{0, 1, 3} {
			_, _, err = within(d, time.Hour)
			require.ErrorIs(t, err, ErrFlush)
			require.Equal(t, at*time.Second, time.Since(began))
		}
		require.Equal(t, 1024, d.Stats().Held)
		require.NoError(t, ack(bg, nil))
		require.NoError(t, d.Close(bg))
	})
}

func TestDeadLetters(t *testing.T) {
	t.Run("after MaxAttempts, as a discard", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(2, 1)
			var letters []string
			d := redeliver(t, f, RedeliverConfig[numbered]{
				MaxAttempts: 3,
				DeadLetter: func(_ context.Context, b numbered, err error, attempts int) error {
					letters = append(letters, fmt.Sprint(b.n, err, attempts))
					return nil
				},
			})
			for range 3 {
				b, ack, err := within(d, time.Hour)
				require.NoError(t, err)
				require.Zero(t, b.n)
				require.NoError(t, ack(bg, errRefused))
			}
			require.Equal(t, []string{"0 test: refused 3"}, letters)
			require.Len(t, f.words[0], 1)
			require.True(t, Discarded(f.words[0][0]))
			require.ErrorIs(t, f.words[0][0], errRefused)
			b, _, err := within(d, time.Hour)
			require.NoError(t, err)
			require.Equal(t, 1, b.n)
		})
	})
	// In the world: a message whose dead-lettering failed was neither committed
	// nor tried again, and its partition never committed any more.
	t.Run("one that fails is neither lost nor stuck", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f, failures := newNumbers(1, 1), 2
			d := redeliver(t, f, RedeliverConfig[numbered]{
				MaxAttempts: 2,
				DeadLetter: func(context.Context, numbered, error, int) error {
					if failures--; failures >= 0 {
						return errors.New("test: dead letters are down")
					}
					return nil
				},
			})
			for range 4 {
				require.Empty(t, f.words[0])
				_, ack, err := within(d, time.Hour)
				require.NoError(t, err)
				require.NoError(t, ack(bg, errRefused))
			}
			require.True(t, Discarded(f.words[0][0]))
		})
	})
	t.Run("one that failed with a discard of its own is no discard", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(1, 1)
			down := errors.New("test: dead letters are down")
			d := redeliver(t, f, RedeliverConfig[numbered]{
				MaxAttempts: 1,
				DeadLetter:  func(context.Context, numbered, error, int) error { return Discard(down) },
			})
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			require.NoError(t, ack(bg, errRefused))
			require.NoError(t, d.Close(bg))
			require.Len(t, f.words[0], 1)
			require.False(t, Discarded(f.words[0][0]), "%v", f.words[0][0])
			require.ErrorIs(t, f.words[0][0], errRefused)
			require.ErrorContains(t, f.words[0][0], down.Error())
		})
	})
	t.Run("without one the policy below decides", func(t *testing.T) {
		for _, policy := range []NackPolicy{Pin, Fail, DiscardNacked} {
			bubble(t, func(t *testing.T) {
				r := newRig(t, calm(1), func(cfg *Config, _ *source) { cfg.Nack = policy })
				d, err := Redeliver(r.r.Read, RedeliverConfig[page]{MaxAttempts: 2})
				require.NoError(t, err)
				r.rd, r.read = d, d.Read
				for n := 0; n < 2; {
					_, ack, err := r.readFor(time.Hour)
					if errors.Is(err, ErrFlush) {
						continue
					}
					require.NoError(t, err)
					require.NoError(t, ack(bg, errRefused))
					n++
				}
				err = r.nextErr(time.Minute)
				switch policy {
				case Pin:
					require.ErrorIs(t, err, ErrFlush)
					require.Equal(t, 1, r.r.Stats().Backfill.Outstanding)
				case Fail:
					require.ErrorIs(t, err, ErrNacked)
				case DiscardNacked:
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, Streaming, r.r.Phase())
				}
			})
		}
	})
}

// A batch nacked while the barrier waits comes again, and the handoff waits for
// it: the phase change loses nothing.
func TestRedeliveryAcrossThePhaseChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hooks := 0
		s := calm(1)
		s.redeliver = true
		a := s.begin(-1, false)
		a.src.segments = 1
		a.src.hook = func(context.Context, Summary) error { hooks++; return nil }
		r := &rig{a, t}
		t.Cleanup(func() { a.finish(true) })
		h := r.next()
		require.ErrorIs(t, r.nextErr(time.Second), ErrFlush)
		require.Equal(t, Settling, a.r.Phase())
		for range 5 {
			require.NoError(t, h.ack(bg, errRefused))
			for {
				b, ack, err := r.readFor(time.Hour)
				if errors.Is(err, ErrFlush) {
					continue
				}
				require.NoError(t, err)
				require.Equal(t, h.rows, b.rows)
				h.ack = ack
				break
			}
			require.Zero(t, hooks)
		}
		require.NoError(t, h.ack(bg, nil))
		s.w.write(0)
		require.Equal(t, Streaming, r.next().half)
		require.Equal(t, 1, hooks)
	})
}

func TestRedeliveryHoldsNobodyUp(t *testing.T) {
	t.Run("a slow ack below", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(4, 2)
			f.slow[0] = make(chan struct{})
			d := redeliver(t, f, RedeliverConfig[numbered]{})
			_, ack0, err := within(d, time.Second)
			require.NoError(t, err)
			acked := make(chan error, 1)
			go func() { acked <- ack0(bg, nil) }()
			synctest.Wait()
			b, ack1, err := within(d, time.Second)
			require.NoError(t, err)
			require.Equal(t, 1, b.n)
			require.NoError(t, ack1(bg, nil))
			b, _, err = within(d, time.Second) // 2 waits behind 0
			require.NoError(t, err)
			require.Equal(t, 3, b.n)
			close(f.slow[0])
			require.NoError(t, <-acked)
			b, _, err = within(d, time.Second)
			require.NoError(t, err)
			require.Equal(t, 2, b.n)
		})
	})
	t.Run("a pausing batch of another partition", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := redeliver(t, newNumbers(4, 2), RedeliverConfig[numbered]{Backoff: Backoff{Min: time.Hour, Max: time.Hour}})
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			require.NoError(t, ack(bg, errRefused))
			var got []int
			for {
				b, ack, err := within(d, time.Minute)
				if err != nil {
					break
				}
				got = append(got, b.n)
				require.NoError(t, ack(bg, nil))
			}
			require.Equal(t, []int{1, 3}, got)
		})
	})
	t.Run("a reader below that blocks", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := redeliver(t, newNumbers(1, 1), RedeliverConfig[numbered]{})
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			go func() {
				time.Sleep(time.Minute) // Read waits below by then
				_ = ack(bg, errRefused)
			}()
			b, _, err := within(d, time.Hour)
			require.NoError(t, err)
			require.Zero(t, b.n)
		})
	})
}

// The AckFunc of an earlier handout must not settle a later one: whoever holds it
// does not have the batch any more.
func TestRedeliveryHasOneOwnerAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newNumbers(1, 1)
		d := redeliver(t, f, RedeliverConfig[numbered]{})
		_, first, err := within(d, time.Second)
		require.NoError(t, err)
		require.NoError(t, first(bg, errRefused))
		require.ErrorIs(t, first(bg, nil), ErrStale, "while it waits")
		_, second, err := within(d, time.Second)
		require.NoError(t, err)
		require.ErrorIs(t, first(bg, nil), ErrStale, "while another has it")
		require.ErrorIs(t, first(bg, errRefused), ErrStale)
		require.Empty(t, f.words)
		require.NoError(t, second(bg, nil))
		require.ErrorIs(t, first(bg, nil), ErrStale, "after it was settled")
		require.Equal(t, []error{nil}, f.words[0])
	})
}

// Each failure that will be tried again is told once with its number, also when
// the next attempt begins meanwhile.
func TestRedeliveryTellsOfEachRetry(t *testing.T) {
	const failures = 200
	var mu sync.Mutex
	var told []int
	f := newNumbers(1, 1)
	d, err := Redeliver(f.read, RedeliverConfig[numbered]{
		Backoff: Backoff{Min: 1, Max: 1},
		OnRetry: func(b numbered, err error, attempts int, pause time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, attempts)
			if b.n != 0 || !errors.Is(err, errRefused) || pause > 1 {
				told = append(told, -1)
			}
		},
	})
	require.NoError(t, err)
	var group sync.WaitGroup
	for i := range failures + 1 {
		_, ack, err := d.Read(bg)
		require.NoError(t, err)
		group.Go(func() {
			if i < failures {
				_ = ack(bg, errRefused)
			} else {
				_ = ack(bg, nil)
			}
		})
	}
	group.Wait()
	require.NoError(t, d.Close(bg))
	slices.Sort(told)
	want := make([]int, failures)
	for i := range want {
		want[i] = i + 1
	}
	require.Equal(t, want, told)
}

// An ack that failed below can be repeated, a nack below is said once, and what is
// over below is over.
func TestRedeliveryPassesOnWhatIsSaidBelow(t *testing.T) {
	down := errors.New("test: down")
	for _, c := range []struct {
		name        string
		word, below error
		again       bool
	}{
		{"an ack that fails", nil, down, true},
		{"a discard that fails", Discard(errRefused), down, true},
		{"a nack that fails", errRefused, down, false},
		{"a stale ack", nil, ErrStale, false},
		{"an attempt that is over", nil, ErrAttemptOver, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newNumbers(1, 1)
				d := redeliver(t, f, RedeliverConfig[numbered]{MaxAttempts: 1})
				d.read = func(ctx context.Context) (numbered, AckFunc, error) {
					b, ack, err := f.read(ctx)
					return b, func(ctx context.Context, err error) error {
						if err := ack(ctx, err); err != nil || len(f.words[b.n]) > 1 {
							return err
						}
						return c.below
					}, err
				}
				_, ack, err := within(d, time.Second)
				require.NoError(t, err)
				require.ErrorIs(t, ack(bg, c.word), c.below)
				if c.again {
					require.Equal(t, RedeliverStats{Held: 1, Out: 1}, d.Stats())
					require.NoError(t, ack(bg, c.word))
					require.Len(t, f.words[0], 2)
				}
				require.Zero(t, d.Stats())
				require.ErrorIs(t, ack(bg, nil), ErrStale)
			})
		})
	}
}

func TestRedeliveryBoundsItsMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newNumbers(1000, 1000)
		d := redeliver(t, f, RedeliverConfig[numbered]{MaxHeld: 10})
		var first AckFunc
		for range 10 {
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			if first == nil {
				first = ack
			}
		}
		began := time.Now()
		for _, at := range []time.Duration{0, 1, 3, 7} {
			_, _, err := within(d, time.Hour)
			require.ErrorIs(t, err, ErrFlush)
			require.Equal(t, at*time.Second, time.Since(began))
		}
		require.Equal(t, 10, f.n)
		require.Equal(t, RedeliverStats{Held: 10, Out: 10}, d.Stats())
		require.NoError(t, first(bg, nil))
		_, _, err := within(d, time.Second)
		require.NoError(t, err)
		began = time.Now()
		for _, at := range []time.Duration{0, 1, 3} {
			_, _, err := within(d, time.Hour)
			require.ErrorIs(t, err, ErrFlush)
			require.Equal(t, at*time.Second, time.Since(began), "at once, once something came")
		}
	})
}

func TestRedeliveryClose(t *testing.T) {
	t.Run("waits for what is out, and nacks what waits", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(3, 3)
			d := redeliver(t, f, RedeliverConfig[numbered]{Backoff: Backoff{Min: time.Hour, Max: time.Hour}})
			_, ack0, err := within(d, time.Second)
			require.NoError(t, err)
			_, ack1, err := within(d, time.Second)
			require.NoError(t, err)
			_, ack2, err := within(d, time.Second)
			require.NoError(t, err)
			require.NoError(t, ack0(bg, errRefused)) // waits for an hour
			time.AfterFunc(time.Minute, func() { _ = ack1(bg, nil) })
			time.AfterFunc(2*time.Minute, func() { _ = ack2(bg, errRefused) })
			began := time.Now()
			require.NoError(t, d.Close(bg))
			require.Equal(t, 2*time.Minute, time.Since(began))
			require.Equal(t, map[int][]error{0: {errRefused}, 1: {nil}, 2: {errRefused}}, f.words)
			_, _, err = within(d, time.Second)
			require.ErrorIs(t, err, ErrStopped)
			require.NoError(t, d.Close(bg))
			require.Zero(t, d.Stats())
		})
	})
	t.Run("a batch that never had its turn is not delivered", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(2, 1)
			d := redeliver(t, f, RedeliverConfig[numbered]{})
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			_, _, err = within(d, time.Second)
			require.ErrorIs(t, err, context.DeadlineExceeded, "the second waits for the first")
			require.Equal(t, RedeliverStats{Held: 2, Out: 1, Waiting: 1}, d.Stats())
			time.AfterFunc(time.Minute, func() { _ = ack(bg, nil) })
			require.NoError(t, d.Close(bg))
			require.Equal(t, map[int][]error{0: {nil}, 1: {ErrStopped}}, f.words)
		})
	})
	t.Run("nothing is handed out behind one that gave up", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(1, 1)
			d := redeliver(t, f, RedeliverConfig[numbered]{})
			_, ack, err := within(d, time.Second)
			require.NoError(t, err)
			require.NoError(t, ack(bg, errRefused))
			ctx, cancel := context.WithCancel(bg)
			cancel()
			d.reading <- struct{}{} // somebody reads
			require.Equal(t, context.Canceled, d.Close(ctx))
			<-d.reading
			time.Sleep(time.Minute)
			_, _, err = within(d, time.Second)
			require.ErrorIs(t, err, ErrStopped)
		})
	})
	t.Run("gives up with its context", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := redeliver(t, newNumbers(3, 3), RedeliverConfig[numbered]{})
			_, _, err := within(d, time.Second)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			require.Equal(t, context.DeadlineExceeded, d.Close(ctx))
		})
	})
	t.Run("a batch read and never handed out is nacked", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newNumbers(2, 2)
			hold := make(chan struct{})
			d, err := Redeliver(func(ctx context.Context) (numbered, AckFunc, error) {
				<-hold
				return f.read(ctx)
			}, RedeliverConfig[numbered]{})
			require.NoError(t, err)
			_, _, err = within(d, time.Second)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			close(hold)
			synctest.Wait() // the answer lies there
			require.NoError(t, d.Close(bg))
			require.Equal(t, []error{ErrStopped}, f.words[0])
		})
	})
}
