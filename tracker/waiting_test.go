package tracker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// call is a Track that runs in its own goroutine and may wait.
type call struct {
	weight int64
	cancel context.CancelFunc
	tk     Ticket[spot]
	err    error
	done   bool
}

func start(f *Frontier[spot], at spot, weight int64) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{weight: weight, cancel: cancel}
	go func() {
		defer cancel()
		c.tk, c.err = f.Track(ctx, at, weight)
		c.done = true
	}()
	synctest.Wait()
	return c
}

// Calls that wait, and are cancelled, sealed and abandoned under way, against a
// queue that admits the first whenever there is room.
func TestT6_WaitersAgainstAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			s := newMachine(rapid.Int64Range(1, 3).Draw(t, "limit"))
			// A run that is cut short must leave nobody waiting.
			defer func() {
				s.f.Abandon()
				synctest.Wait()
			}()
			var queue []*call
			// admit is the model's side of room being made.
			admit := func() {
				for len(queue) > 0 && s.m.admits(queue[0].weight) {
					c := queue[0]
					queue = queue[1:]
					if !c.done || c.err != nil {
						t.Fatalf("a call waits although there is room: %v", c.err)
					}
					s.m.track(spot{len(s.m.items), 0}, c.weight, true)
					s.tickets = append(s.tickets, c.tk)
				}
			}
			end := func(want error) {
				for _, c := range queue {
					if !c.done || !errors.Is(c.err, want) {
						t.Fatalf("a waiting call ended with %v, not %v", c.err, want)
					}
				}
				queue = nil
			}
			track := func(t *rapid.T) {
				c := start(s.f, spot{}, rapid.Int64Range(0, 5).Draw(t, "weight"))
				if want := s.m.closed(); want != nil {
					if !c.done || !errors.Is(c.err, want) {
						t.Fatalf("Track: %v, not %v", c.err, want)
					}
					return
				}
				if len(queue) > 0 && c.done {
					t.Fatal("a newcomer overtook those who wait")
				}
				queue = append(queue, c)
				admit()
			}
			t.Repeat(map[string]func(*rapid.T){
				// Thrice, so that calls come faster than room is made.
				"track": track, "track more": track, "track still more": track,
				"cancel": func(t *rapid.T) {
					if len(queue) == 0 {
						t.Skip("nobody waits")
					}
					i := rapid.IntRange(0, len(queue)-1).Draw(t, "which")
					c := queue[i]
					c.cancel()
					synctest.Wait()
					if !c.done || c.err != context.Canceled {
						t.Fatalf("a cancelled call ended with %v", c.err)
					}
					queue = append(queue[:i:i], queue[i+1:]...)
					admit()
				},
				"settle": func(t *rapid.T) {
					i := s.pick(t)
					s.settle(t, i, settling(rapid.IntRange(0, 1).Draw(t, "how")))
					synctest.Wait()
					admit()
				},
				"seal": func(t *rapid.T) {
					if rapid.IntRange(0, 29).Draw(t, "really") > 0 {
						return // not yet
					}
					if s.f.Seal() != s.m.seal() {
						t.Fatal("Seal")
					}
					synctest.Wait()
					end(ErrSealed)
				},
				"abandon": func(t *rapid.T) {
					if rapid.IntRange(0, 29).Draw(t, "really") > 0 {
						return // not yet
					}
					if s.f.Abandon() != s.m.abandon() {
						t.Fatal("Abandon")
					}
					synctest.Wait()
					if s.m.abandoned {
						end(ErrAbandoned)
					}
				},
				"": func(t *rapid.T) {
					if err := s.f.check(); err != nil {
						t.Fatal(err)
					}
					for _, c := range queue {
						if c.done {
							t.Fatalf("a call ended out of turn: %v", c.err)
						}
					}
					want := s.m.stats()
					want.Waiting = len(queue)
					if got := s.f.Stats(); got != want {
						t.Fatalf("stats %+v; the model has %+v", got, want)
					}
					out, limit := want.OutstandingWeight, s.m.limit
					if out > limit && want.Outstanding > 1 {
						t.Fatalf("%d items weigh %d over the limit %d", want.Outstanding, out, limit)
					}
				},
			})
		})
	})
}

// A peer's Track can hang when its context is cancelled before the call, since
// the wake-up may come before the wait.
func TestT6_TrackOnACancelledContextReturnsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("shutting down"))
	for _, full := range []bool{false, true} {
		f := New[int](Config{Limit: 1})
		if full {
			_, err := f.TryTrack(1, 1)
			require.NoError(t, err)
		}
		was := f.Stats()
		for range 1000 {
			_, err := f.Track(ctx, 2, 1)
			require.Equal(t, context.Canceled, err, "raw, not wrapped")
			_, err = f.TrackHold(ctx, 1)
			require.Equal(t, context.Canceled, err)
			_, err = f.TrackAll(ctx, []Item[int]{{Position: 2, Weight: 1}}, nil)
			require.Equal(t, context.Canceled, err)
		}
		require.Equal(t, was, f.Stats(), "a call that fails leaves no slot")
		require.NoError(t, f.check())
	}
}

func TestT6_WaitingCostsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[spot](Config{Limit: 1})
		first := start(f, spot{}, 1)
		before := runtime.NumGoroutine()
		const n = 200
		var calls []*call
		for i := range n {
			calls = append(calls, start(f, spot{n: i + 1}, 1))
		}
		// The number is the process's: somebody else's goroutine may end meanwhile.
		require.LessOrEqual(t, runtime.NumGoroutine(), before+n, "the callers' own and no more")
		require.True(t, first.tk.Ack())
		for i, c := range calls {
			synctest.Wait()
			require.True(t, c.done, "call %d is next", i)
			require.NoError(t, c.err)
			require.True(t, c.tk.Ack())
		}
		pos, _ := f.Position()
		require.Equal(t, n, pos.n)
	})
}

func TestT6_DeadlineEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[int](Config{Limit: 1})
		tk, err := f.TryTrack(1, 1)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err = f.Track(ctx, 2, 1)
		require.Equal(t, context.DeadlineExceeded, err)
		require.Equal(t, time.Minute, time.Since(began))
		require.True(t, tk.Ack())
		require.EqualValues(t, 1, f.Stats().Tracked)
	})
}

// A heavy item waits for a full drain; light ones that come later do not pass
// it for ever, and one that gives up lets them in.
func TestT6_HeavyItemIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[spot](Config{Limit: 4})
		a := start(f, spot{}, 3)
		heavy := start(f, spot{}, 9)
		light := start(f, spot{}, 1)
		require.False(t, heavy.done)
		require.False(t, light.done, "it would fit, but it is not its turn")
		_, err := f.TryTrack(spot{}, 1)
		require.ErrorIs(t, err, ErrLimit)
		heavy.cancel()
		synctest.Wait()
		require.Equal(t, context.Canceled, heavy.err)
		require.NoError(t, light.err)
		require.True(t, light.done, "those behind one who gave up are next")

		heavy = start(f, spot{}, 9)
		require.True(t, a.tk.Ack())
		require.True(t, light.tk.Ack())
		synctest.Wait()
		require.True(t, heavy.done)
		require.EqualValues(t, 9, f.Stats().OutstandingWeight)
		require.True(t, heavy.tk.Ack())
	})
}

func TestT6_TrackAllIsOneItemForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[int](Config{Limit: 4})
		tk, err := f.TryTrack(0, 1)
		require.NoError(t, err)
		items := []Item[int]{{Position: 1, Weight: 3}, {Weight: 3, Hold: true}, {Position: 3, Weight: 3}}
		var got []Ticket[int]
		go func() { got, _ = f.TrackAll(t.Context(), items, nil) }()
		synctest.Wait()
		require.Equal(t, 1, f.Stats().Outstanding, "all or none")
		require.True(t, tk.Ack())
		synctest.Wait()
		require.Len(t, got, 3, "alone, it is admitted whatever it weighs")
		require.Equal(t, 3, AckAll(got))
		require.Equal(t, "frontier=3 outstanding=[]", fmt.Sprint(f))
	})
}

// A page without records has nothing to wait for, whoever else does.
func TestT6_TrackAllOfNothingDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[spot](Config{Limit: 1})
		first := start(f, spot{}, 1)
		second := start(f, spot{}, 1)
		require.False(t, second.done)
		got, err := f.TrackAll(t.Context(), nil, nil)
		require.NoError(t, err)
		require.Empty(t, got)
		require.True(t, first.tk.Ack())
		synctest.Wait()
		require.True(t, second.done)
	})
}
