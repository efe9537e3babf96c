package tracker

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checkGroup holds the books of a Group together.
func checkGroup[P any](g *Group[int, P]) error {
	var lent int64
	for k, f := range g.All() {
		if err := f.check(); err != nil {
			return fmt.Errorf("member %d: %w", k, err)
		}
		out := f.total - f.gone
		if f.lent != max(0, out-g.share) {
			return fmt.Errorf("member %d has %d out, a share of %d and borrowed %d", k, out, g.share, f.lent)
		}
		lent += f.lent
		if w := f.waiting.head; (w != nil) != f.standing.taken {
			return fmt.Errorf("member %d: waiting %v, in line %v", k, w != nil, f.standing.taken)
		} else if w != nil && (f.outstandingLocked() == 0 || w.of.weight <= g.share-out) {
			return fmt.Errorf("member %d is starved: %d out of its share of %d", k, out, g.share)
		}
	}
	if lent != g.pool.lent {
		return fmt.Errorf("%d lent, %d borrowed", g.pool.lent, lent)
	}
	if e := g.pool.line.head; e != nil {
		f := e.of
		out := f.total - f.gone
		if more := out + f.waiting.head.of.weight - f.limit - f.lent; more <= g.pool.limit-g.pool.lent {
			return fmt.Errorf("the first in line waits for %d although %d are there", more, g.pool.limit-g.pool.lent)
		}
	}
	return nil
}

func TestT6_GroupStarvesNoMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			share := rapid.Int64Range(1, 3).Draw(t, "share")
			limit := rapid.Int64Range(0, 4).Draw(t, "limit")
			g := NewGroup[int, spot](GroupConfig[int]{Share: share, Limit: limit})
			revokeAll := func() {
				for k := range g.All() {
					g.Revoke(k)
				}
				synctest.Wait()
			}
			defer revokeAll() // a run that is cut short must leave nobody waiting
			member := rapid.IntRange(0, 3)
			var calls []*call
			var late []Ticket[spot]
			heavy := int64(0)
			t.Repeat(map[string]func(*rapid.T){
				"add": func(t *rapid.T) {
					k := member.Draw(t, "member")
					_, there := g.Get(k)
					if _, err := g.Add(k); (err != nil) != there {
						t.Fatalf("Add of %d, there %v: %v", k, there, err)
					}
				},
				"track": func(t *rapid.T) {
					f, ok := g.Get(member.Draw(t, "member"))
					if !ok {
						return // no member
					}
					w := rapid.Int64Range(0, 5).Draw(t, "weight")
					heavy = max(heavy, w)
					calls = append(calls, start(f, spot{}, w))
				},
				"try": func(t *rapid.T) {
					f, ok := g.Get(member.Draw(t, "member"))
					if !ok {
						return // no member
					}
					w := rapid.Int64Range(0, 5).Draw(t, "weight")
					out := f.Stats()
					tk, err := f.TryTrack(spot{}, w)
					if err == nil {
						heavy = max(heavy, w)
						calls = append(calls, &call{tk: tk, done: true, cancel: func() {}})
					} else if out.Waiting == 0 && (out.Outstanding == 0 || out.OutstandingWeight+w <= share) {
						t.Fatalf("refused within its share: %v", err)
					}
				},
				"end": func(t *rapid.T) {
					if len(calls) == 0 {
						t.Skip("no calls")
					}
					i := rapid.IntRange(0, len(calls)-1).Draw(t, "call")
					c := calls[i]
					calls = append(calls[:i:i], calls[i+1:]...)
					if c.done && c.err == nil {
						c.tk.Ack()
						late = append(late, c.tk)
					}
					c.cancel()
					synctest.Wait()
				},
				"revoke": func(t *rapid.T) {
					k := member.Draw(t, "member")
					_, there := g.Get(k)
					if g.Revoke(k) != there {
						t.Fatalf("Revoke of %d, there %v", k, there)
					}
					synctest.Wait()
				},
				"late": func(t *rapid.T) {
					for _, tk := range late {
						if tk.Ack() {
							t.Fatal("a late ack applied")
						}
					}
				},
				"": func(t *rapid.T) {
					if err := checkGroup(g); err != nil {
						t.Fatal(err)
					}
					s := g.Stats()
					// Over the limit goes only what is alone in its member.
					if bound := limit + int64(s.Members)*max(share, heavy); s.OutstandingWeight > bound {
						t.Fatalf("%d outstanding, bound %d", s.OutstandingWeight, bound)
					}
				},
			})
			revokeAll()
			if g.pool.lent != 0 || g.pool.line.n != 0 {
				t.Fatalf("after all are gone: %d lent, %d in line", g.pool.lent, g.pool.line.n)
			}
		})
	})
}

// One stuck partition took the whole in-flight budget, and all others starved.
func TestT6_StuckMemberLeavesTheOthersTheirShare(t *testing.T) {
	g := NewGroup[string, int](GroupConfig[string]{Share: 2, Limit: 3})
	stuck, err := g.Add("stuck")
	require.NoError(t, err)
	for i := 0; ; i++ {
		if _, err := stuck.TryTrack(i, 1); err != nil {
			require.ErrorIs(t, err, ErrLimit)
			break
		}
	}
	require.Equal(t, 5, stuck.Stats().Outstanding, "its share and all there is to lend")
	for i := range 10 {
		f, err := g.Add(fmt.Sprint(i))
		require.NoError(t, err)
		for range 100 {
			a, err := f.TryTrack(1, 1)
			require.NoError(t, err)
			b, err := f.TryTrack(2, 1)
			require.NoError(t, err)
			require.Equal(t, 2, AckAll([]Ticket[int]{b, a}))
		}
	}
	s := g.Stats()
	require.Equal(t, 11, s.Members)
	require.EqualValues(t, 3, s.Lent)
	require.EqualValues(t, 1, s.ByMember["stuck"].Oldest, "who is stuck is in the stats")
	require.Zero(t, s.ByMember["3"].Outstanding)
	_, err = g.Add("stuck")
	require.ErrorIs(t, err, ErrMember)
}

func TestT6_LentWeightGoesToTheNextInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup[int, spot](GroupConfig[int]{Share: 1, Limit: 1})
		a, _ := g.Add(1)
		b, _ := g.Add(2)
		c, _ := g.Add(3)
		a1, a2 := start(a, spot{}, 1), start(a, spot{}, 1)
		b1, b2 := start(b, spot{}, 1), start(b, spot{}, 1)
		c1, c2 := start(c, spot{}, 1), start(c, spot{}, 1)
		require.True(t, a1.done && a2.done && b1.done && c1.done)
		require.False(t, b2.done || c2.done)
		require.Equal(t, []int{2, 3}, g.Stats().Waiting)
		require.True(t, a2.tk.Ack(), "a gives back")
		synctest.Wait()
		require.True(t, b2.done)
		require.False(t, c2.done)
		require.True(t, g.Revoke(2), "with all it holds")
		synctest.Wait()
		require.True(t, c2.done)
		require.False(t, b1.tk.Ack(), "late acks of a revoked member are harmless")
		again, err := g.Add(2)
		require.NoError(t, err)
		require.False(t, b2.tk.Ack())
		require.Zero(t, again.Stats().Tracked)
		require.NoError(t, checkGroup(g))
	})
}

// Light calls of one member do not pass a heavy one of another for ever.
func TestT6_NobodyPassesTheFirstInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup[int, spot](GroupConfig[int]{Share: 1, Limit: 2})
		a, _ := g.Add(1)
		b, _ := g.Add(2)
		c, _ := g.Add(3)
		_, a2 := start(a, spot{}, 1), start(a, spot{}, 1)
		b1, b2 := start(b, spot{}, 1), start(b, spot{}, 2)
		require.True(t, a2.done && b1.done)
		require.False(t, b2.done, "two are needed, one is there")
		c1 := start(c, spot{}, 1)
		require.True(t, c1.done, "within its share")
		_, err := c.TryTrack(spot{}, 1)
		require.ErrorIs(t, err, ErrLimit, "one is there, but it is not c's turn")
		c2 := start(c, spot{}, 1)
		require.False(t, c2.done)

		b2.cancel() // the first gives up: the next one's turn
		synctest.Wait()
		require.Equal(t, context.Canceled, b2.err)
		require.True(t, c2.done)
		require.NoError(t, checkGroup(g))
	})
}

// twoInLine is a group in which two calls wait: first, of member 2, for more than
// there is to lend, and behind it second, of member 1, for what there is. held is
// the whole of what member 2 has out.
func twoInLine(t *testing.T) (g *Group[int, spot], held, first, second *call) {
	g = NewGroup[int, spot](GroupConfig[int]{Share: 2, Limit: 3})
	a, _ := g.Add(1)
	b, _ := g.Add(2)
	other := start(a, spot{}, 1)
	held = start(b, spot{}, 2)
	first = start(b, spot{}, 4)
	second = start(a, spot{}, 2)
	require.True(t, other.done && held.done)
	require.False(t, first.done || second.done)
	return g, held, first, second
}

// The first in line was served from what it had itself settled, which gave
// nothing back, and so nobody told the second that its turn had come.
func TestT6_LeavingTheLineWakesTheNext(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g, b1, b2, a2 := twoInLine(t)
			if all {
				require.Equal(t, 1, AckAll([]Ticket[spot]{b1.tk}))
			} else {
				require.True(t, b1.tk.Ack())
			}
			synctest.Wait()
			require.True(t, b2.done, "it is alone in its member now")
			require.True(t, a2.done, "one is left to lend, and it is needed")
			require.NoError(t, checkGroup(g))
		})
	}
}

// Whatever takes the first out of the line, the second is told.
func TestT6_EveryWayOutOfTheLineWakesTheNext(t *testing.T) {
	type group = Group[int, spot]
	for name, leave := range map[string]func(*group, *call){
		"cancelled": func(_ *group, c *call) { c.cancel() },
		"sealed":    func(g *group, _ *call) { f, _ := g.Get(2); f.Seal() },
		"abandoned": func(g *group, _ *call) { f, _ := g.Get(2); f.Abandon() },
		"revoked":   func(g *group, _ *call) { g.Revoke(2) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _, first, second := twoInLine(t)
				leave(g, first)
				synctest.Wait()
				require.Error(t, first.err)
				require.True(t, second.done, "one is left to lend, and it is needed")
				require.NoError(t, second.err)
				require.NoError(t, checkGroup(g))
			})
		})
	}
}

// What weighs nothing needs no loan, and so does not stand in line for one.
func TestT6_WeightlessItemsDoNotStandInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup[int, spot](GroupConfig[int]{Share: 1, Limit: 2})
		a, _ := g.Add(1)
		b, _ := g.Add(2)
		require.True(t, start(a, spot{}, 1).done)
		require.True(t, start(a, spot{}, 2).done, "lent")
		require.True(t, start(b, spot{}, 1).done)
		require.False(t, start(b, spot{}, 1).done, "nothing is left to lend")
		require.True(t, start(a, spot{}, 0).done)
		require.NoError(t, checkGroup(g))
		g.Revoke(1)
		g.Revoke(2)
	})
}

// Room that is given back after a call was refused it and before it stands in
// line is offered to nobody: the call has to ask once more.
func TestT6_RoomGivenBackBeforeTheCallStandsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup[int, spot](GroupConfig[int]{Share: 1, Limit: 1})
		a, _ := g.Add(1)
		b, _ := g.Add(2)
		lent := start(a, spot{}, 1)
		require.True(t, start(a, spot{}, 1).done)
		require.True(t, start(b, spot{}, 1).done)
		b.mu.Lock()
		require.False(t, b.admitLocked(1), "the only one to lend is lent")
		require.True(t, lent.tk.Ack())
		got, err := b.waitAndUnlock(t.Context(), []Item[spot]{{Weight: 1}}, 1, nil)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.NoError(t, checkGroup(g))
	})
}

func TestT7_RevokeRacesAcks(t *testing.T) {
	var advanced atomic.Int64
	g := NewGroup[int, int](GroupConfig[int]{Share: 4, Limit: 8, OnAdvance: func(int) { advanced.Add(1) }})
	var wg sync.WaitGroup
	var moved atomic.Int64
	for k := range 4 {
		wg.Go(func() {
			for range 10 {
				f, err := g.Add(k)
				if err != nil {
					moved.Add(1)
					return
				}
				var in sync.WaitGroup
				for range 3 {
					in.Go(func() {
						for n := 0; ; n++ {
							tk, err := f.Track(context.Background(), n, int64(n%6))
							if err != nil {
								return
							}
							tk.Ack()
						}
					})
				}
				for f.Stats().Acked < 10 {
					runtime.Gosched()
				}
				g.Revoke(k)
				was := f.Snapshot()
				in.Wait()
				if f.Snapshot() != was {
					moved.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, moved.Load(), "a revoked member moved")
	require.Zero(t, g.pool.lent)
	require.Zero(t, g.pool.line.n)
	require.Positive(t, advanced.Load())
}

// Members borrow, give back, give up and leave the line all at once; every call
// ends, and the books balance.
func TestT6_GroupBooksBalanceAfterAStampede(t *testing.T) {
	g := NewGroup[int, int](GroupConfig[int]{Share: 1, Limit: 2})
	var wg sync.WaitGroup
	for k := range 5 {
		f, err := g.Add(k)
		require.NoError(t, err)
		for c := range 3 {
			wg.Go(func() {
				for n := range 300 {
					ctx, cancel := context.WithCancel(context.Background())
					if (n+c)%7 == 0 {
						go cancel()
					}
					tk, err := f.Track(ctx, n, int64(1+(n+c+k)%3))
					cancel()
					if err != nil {
						continue
					}
					if n%2 == 0 {
						runtime.Gosched()
						tk.Ack()
					} else {
						AckAll([]Ticket[int]{tk, tk})
					}
				}
			})
		}
	}
	wg.Wait()
	require.NoError(t, checkGroup(g))
	s := g.Stats()
	require.Zero(t, s.Outstanding)
	require.Zero(t, s.Lent)
	require.Empty(t, s.Waiting)
}

func TestGroupWithoutLimits(t *testing.T) {
	g := NewGroup[string, int](GroupConfig[string]{})
	f, err := g.Add("a")
	require.NoError(t, err)
	for i := range 1000 {
		_, err := f.TryTrack(i, 1<<40)
		require.NoError(t, err)
	}
	require.Equal(t, 1000, g.Stats().Outstanding)
	require.Equal(t, int64(1000<<40), g.Stats().OutstandingWeight)
	require.True(t, g.Revoke("a"))
	require.False(t, g.Revoke("a"))
	require.Zero(t, g.Stats().Members)
}
