package shards

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func lineageMachine(t *rapid.T) {
	order := rapid.SampledFrom([]Order{Strict, Relaxed}).Draw(t, "order")
	l, m := NewLineage(order), newNaive(order)
	ids := []string{"a", "b", "c", "d", "e", "f"}
	id := rapid.SampledFrom(ids)
	move := func(ok bool, id, from1, from2, to string) {
		applies := m.known[id] && (m.state[id] == from1 || m.state[id] == from2)
		require.Equal(t, applies, ok, "%s: %s -> %s", id, m.state[id], to)
		if applies {
			m.state[id] = to
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"": func(t *rapid.T) {
			require.NoError(t, l.check())
			require.Equal(t, m.missing(), l.Missing(), "missing; %v", l)
			require.Equal(t, m.forgettable(), l.Forgettable(), "S5: forgettable; %v", l)
		},
		"begin": func(*rapid.T) {
			l.Begin()
			m.pass++
		},
		"end": func(t *rapid.T) {
			if m.pass == 0 || m.lastFull(0) == m.pass {
				t.Skip()
			}
			l.End()
			m.full = append(m.full, m.pass)
		},
		"page": func(t *rapid.T) {
			if m.pass == 0 {
				t.Skip()
			}
			page := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Shard {
				return Shard{
					ID:      id.Draw(t, "id"),
					Parents: rapid.SliceOfN(id, 0, 2).Draw(t, "parents"),
					Closed:  rapid.Bool().Draw(t, "closed"),
				}
			}), 0, 4).Draw(t, "page")
			l.Observe(page...)
			for _, s := range page {
				m.observe(s)
			}
		},
		"take": func(t *rapid.T) {
			want := m.ready()
			got := l.Take()
			for _, id := range got {
				m.state[id] = "reading"
			}
			slices.Sort(got)
			require.Equal(t, want, got, "S3: none early, none forgotten")
		},
		"read": func(t *rapid.T) {
			i := id.Draw(t, "id")
			if m.state[i] != "reading" {
				t.Skip()
			}
			require.True(t, l.Read(i))
			m.state[i] = "read"
		},
		"again": func(t *rapid.T) { // a late report changes nothing
			i := id.Draw(t, "id")
			if m.state[i] != "done" {
				t.Skip()
			}
			require.False(t, l.Read(i))
			require.False(t, l.Complete(i))
			require.False(t, l.Trimmed(i))
		},
		"complete": func(t *rapid.T) {
			i := id.Draw(t, "id")
			if m.state[i] != "reading" && m.state[i] != "read" {
				t.Skip()
			}
			move(l.Complete(i), i, "reading", "read", "done")
			m.durable[i] = true
		},
		"trimmed": func(t *rapid.T) {
			i := id.Draw(t, "id")
			if m.listed[i] {
				t.Skip()
			}
			move(l.Trimmed(i), i, "", "", "done")
		},
		"exclude": func(t *rapid.T) {
			i := id.Draw(t, "id")
			move(l.Exclude(i), i, "", "", "done")
		},
		"durable": func(t *rapid.T) {
			i := id.Draw(t, "id")
			l.Durable(i)
			if m.known[i] {
				m.durable[i] = true
			}
		},
		"restore": func(t *rapid.T) {
			i := id.Draw(t, "id")
			if m.pass > 0 || m.known[i] {
				t.Skip()
			}
			done, pos := rapid.Bool().Draw(t, "complete"), rapid.Bool().Draw(t, "position")
			l.Restore(i, done, pos)
			m.known[i], m.row[i] = true, true
			if done {
				m.state[i] = "done"
			}
			if done || pos {
				m.durable[i] = true
			}
		},
		"forget": func(t *rapid.T) {
			i := id.Draw(t, "id")
			may := slices.Contains(m.forgettable(), i)
			require.Equal(t, may, l.Forget(i))
			if may {
				m.forget(i)
			}
		},
	})
}

func TestS3_LineageIsTheNaiveOne(t *testing.T) { rapid.Check(t, lineageMachine) }

func FuzzS3_Lineage(f *testing.F) { f.Fuzz(rapid.MakeFuzz(lineageMachine)) }

// Every graph of four shards, every part of it listed, in every order, with
// completions as early or as late as can be.
func TestS3_ExhaustiveOverSmallGraphs(t *testing.T) {
	const n = 4
	var orders [][]int
	permute([]int{0, 1, 2, 3}, 0, &orders)
	cases := 0
	for graph := range 1 << 6 {
		all := make([]Shard, n)
		bit := 0
		for i := range n {
			all[i].ID = string(rune('a' + i))
			for p := range i {
				if graph>>bit&1 == 1 {
					all[i].Parents = append(all[i].Parents, all[p].ID)
				}
				bit++
			}
		}
		for listed := 1; listed < 1<<n; listed++ {
			for _, order := range orders {
				for _, late := range []bool{false, true} {
					cases++
					if err := walk(all, listed, order, late); err != nil {
						t.Fatalf("graph %v, listed %04b, order %v, late %v: %v", all, listed, order, late, err)
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

func permute(a []int, k int, out *[][]int) {
	if k == len(a) {
		*out = append(*out, slices.Clone(a))
		return
	}
	for i := k; i < len(a); i++ {
		a[k], a[i] = a[i], a[k]
		permute(a, k+1, out)
		a[k], a[i] = a[i], a[k]
	}
}

// walk lists the shards one a page, and asserts that each listed one is handed
// out once, when its parents are complete or proven trimmed, and none else.
func walk(all []Shard, listed int, order []int, late bool) error {
	var l Lineage
	done, taken := map[string]bool{}, map[string]bool{}
	var open []string
	take := func() error {
		for _, id := range l.Take() {
			i := int(id[0] - 'a')
			if taken[id] || listed>>i&1 == 0 {
				return fmt.Errorf("%s was handed out twice, or unlisted", id)
			}
			taken[id] = true
			for _, p := range all[i].Parents {
				if !done[p] {
					return fmt.Errorf("%s was handed out before its parent %s was done", id, p)
				}
			}
			open = append(open, id)
		}
		return l.check()
	}
	finish := func() error {
		for len(open) > 0 {
			id := open[0]
			open = open[1:]
			done[id] = true
			l.Complete(id)
			if err := take(); err != nil {
				return err
			}
		}
		return nil
	}
	for pass := range 6 {
		l.Begin()
		for _, i := range order {
			if listed>>i&1 == 0 {
				continue
			}
			s := all[i]
			if pass > 0 && i%2 == 0 {
				s.Parents = nil // contradicts what the first listing said
			}
			l.Observe(s)
			if err := take(); err != nil {
				return err
			}
			if !late {
				if err := finish(); err != nil {
					return err
				}
			}
		}
		l.End()
		if pass == 0 && len(l.Missing()) > 0 {
			return fmt.Errorf("missing after the listing that showed the child: %v", l.Missing())
		}
		for _, id := range l.Missing() {
			if listed>>int(id[0]-'a')&1 == 1 {
				return fmt.Errorf("%s is listed, but missing", id)
			}
			done[id] = true
			l.Trimmed(id)
		}
		if err := take(); err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
	}
	for i, s := range all {
		if listed>>i&1 == 1 && !taken[s.ID] {
			return fmt.Errorf("%s was never handed out", s.ID)
		}
	}
	return nil
}

func TestS3_AParentUnknownForAWhileDelaysOnlyItsChild(t *testing.T) {
	var l Lineage
	l.Begin()
	l.Observe(Shard{ID: "child", Parents: []string{"parent"}}, Shard{ID: "other"})
	require.Equal(t, []string{"other"}, l.Take())
	l.End()
	require.Empty(t, l.Missing(), "the listing that showed the child proves nothing of its parent")
	l.Begin()
	l.End()
	require.Equal(t, []string{"parent"}, l.Missing())
	l.Observe(Shard{ID: "parent"}) // asked for, it is there after all
	require.Equal(t, []string{"parent"}, l.Take())
	require.Empty(t, l.Take(), "the child waits")
	require.True(t, l.Complete("parent"))
	require.Equal(t, []string{"child"}, l.Take())
}

func TestS3_RelaxedReleasesAtTheLastRead(t *testing.T) {
	l := NewLineage(Relaxed)
	l.Begin()
	l.Observe(Shard{ID: "a"}, Shard{ID: "b", Parents: []string{"a"}})
	require.Equal(t, []string{"a"}, l.Take())
	require.Empty(t, l.Take())
	require.True(t, l.Read("a"))
	require.Equal(t, []string{"b"}, l.Take())
}

func TestS3_ACycleIsRefusedAndCounted(t *testing.T) {
	var l Lineage
	l.Begin()
	l.Observe(Shard{ID: "a", Parents: []string{"b"}}, Shard{ID: "b", Parents: []string{"a"}}, Shard{ID: "c", Parents: []string{"c"}})
	require.Equal(t, 2, l.Counts().Contradictions)
	require.Equal(t, []string{"b", "c"}, l.Take(), "what is left of the graph goes on")
	require.Equal(t, "a=waiting b=reading c=reading", l.String())
}

func TestS3_AFinishedLeafIsWaitedFor(t *testing.T) {
	var l Lineage
	l.Begin()
	l.Observe(Shard{ID: "a"})
	l.Take()
	require.Empty(t, l.Leaves())
	l.Read("a")
	l.Complete("a")
	require.Equal(t, []string{"a"}, l.Leaves(), "its children are not listed yet")
	l.Observe(Shard{ID: "b", Parents: []string{"a"}})
	require.Empty(t, l.Leaves())
	require.Equal(t, []string{"b"}, l.Take())
}

func TestS5_ACheckpointGoesOnlyWhenEachChildHasItsOwn(t *testing.T) {
	var l Lineage
	list := func(page ...Shard) {
		l.Begin()
		l.Observe(page...)
		l.End()
	}
	b := Shard{ID: "b", Parents: []string{"a"}}
	c := Shard{ID: "c", Parents: []string{"a"}}
	list(Shard{ID: "a"}, b)
	l.Take()
	l.Complete("a")
	l.Take()
	l.Durable("b")
	list(b)
	require.Empty(t, l.Forgettable(), "left out once")
	list(b, c)
	list(b, c)
	require.Empty(t, l.Forgettable(), "c has no state of its own")
	require.False(t, l.Forget("a"))
	l.Durable("c")
	require.Equal(t, []string{"a"}, l.Forgettable())
	require.True(t, l.Forget("a"))
	require.Equal(t, []string{"c"}, l.Take())
	require.NoError(t, l.check())

	var leaf Lineage
	leaf.Begin()
	leaf.Observe(Shard{ID: "a"})
	leaf.End()
	leaf.Take()
	leaf.Complete("a")
	for range 3 {
		leaf.Begin()
		leaf.End()
	}
	require.Empty(t, leaf.Forgettable(), "no child was ever seen")
}
