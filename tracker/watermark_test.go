package tracker

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// check walks the tree and compares it with the map.
func (w *Watermark[K, P]) check() error {
	n := 0
	for k, m := range w.members {
		if m.key != k {
			return errors.New("a member under another's key")
		}
		if m.ok {
			n++
			if got, ok := w.tree.Get(m); !ok || w.compare(got.pos, m.pos) != 0 || got.key != k {
				return errors.New("a member is not in the tree where it should be")
			}
		}
	}
	if w.tree.Len() != n {
		return errors.New("the tree holds who is no member")
	}
	return nil
}

// Against a map that is searched from end to end. Positions are few, so that
// partitions meet at one position all the time, the zero position included.
func TestWatermarkIsTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := NewWatermark[int](cmp.Compare[int])
		type at struct {
			pos int
			ok  bool
		}
		m := map[int]at{}
		key, pos := rapid.IntRange(0, 9), rapid.IntRange(-2, 5)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k := key.Draw(t, "key")
				_, there := m[k]
				if w.Add(k) == there {
					t.Fatal("Add")
				}
				if !there {
					m[k] = at{}
				}
			},
			"advance": func(t *rapid.T) {
				k, p := key.Draw(t, "key"), pos.Draw(t, "pos")
				was, there := m[k]
				forward := there && (!was.ok || p > was.pos)
				if w.Advance(k, p) != forward {
					t.Fatal("Advance")
				}
				if forward {
					m[k] = at{p, true}
				}
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "key")
				_, there := m[k]
				if w.Remove(k) != there {
					t.Fatal("Remove")
				}
				delete(m, k)
			},
			"": func(t *rapid.T) {
				if err := w.check(); err != nil {
					t.Fatal(err)
				}
				want, who, ok, positioned := 0, 0, len(m) > 0, 0
				first := true
				for k, a := range m {
					ok = ok && a.ok
					if a.ok {
						positioned++
					}
					if first || a.pos < want || a.pos == want && k < who {
						want, who, first = a.pos, k, false
					}
				}
				got, at, gotOK := w.Low()
				if gotOK != ok || ok && (got != want || at != who) {
					t.Fatalf("low %v of %v, %v; want %v of %v, %v", got, at, gotOK, want, who, ok)
				}
				if all, p := w.Len(); all != len(m) || p != positioned {
					t.Fatalf("%d of %d, want %d of %d", p, all, positioned, len(m))
				}
			},
		})
	})
}

// The whole way: members of a Group report to a Watermark by OnAdvance, late
// and out of order, and it never passes an item of any of them.
func TestWatermarkOfAGroup(t *testing.T) {
	w := NewWatermark[string](cmp.Compare[int])
	var g *Group[string, int]
	g = NewGroup[string, int](GroupConfig[string]{OnAdvance: func(k string) {
		f, _ := g.Get(k)
		if pos, ok := f.Position(); ok {
			w.Advance(k, pos)
		}
	}})
	tickets := map[string][]Ticket[int]{}
	for _, k := range []string{"a", "b"} {
		require.True(t, w.Add(k))
		f, err := g.Add(k)
		require.NoError(t, err)
		for pos := range 3 {
			tk, err := f.Track(context.Background(), pos, 1)
			require.NoError(t, err)
			tickets[k] = append(tickets[k], tk)
		}
	}
	AckAll(tickets["a"])
	_, _, ok := w.Low()
	require.False(t, ok, "b has not reported")
	require.True(t, tickets["b"][1].Ack())
	require.True(t, tickets["b"][0].Ack())
	pos, at, ok := w.Low()
	require.True(t, ok)
	require.Equal(t, 1, pos)
	require.Equal(t, "b", at)
	require.True(t, g.Revoke("b"))
	require.True(t, w.Remove("b"))
	pos, at, _ = w.Low()
	require.Equal(t, 2, pos)
	require.Equal(t, "a", at)
	require.False(t, w.Advance("b", 9), "it has left")
}
