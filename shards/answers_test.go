package shards

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a listing said of a shard stays known, whatever later listings leave out.
func TestWhatAListingSaidStaysKnown(t *testing.T) {
	l := NewLineage(Strict)
	l.Begin()
	last := number(t, "90")
	require.Equal(t, 2, l.Observe(Shard{ID: "p", Closed: true, Last: last}, Shard{ID: "c", Parents: []string{"p"}}))
	l.End()
	l.Begin()
	require.Zero(t, l.Observe(Shard{ID: "p"}, Shard{ID: "c"}), "neither is new")
	require.Zero(t, l.Observe(Shard{ID: "c", Parents: []string{"p", "p"}}), "nor is the parent another one")
	require.True(t, l.Closed("p"), "once closed, always closed")
	require.False(t, l.Closed("c"))
	require.False(t, l.Closed("unknown"))
	require.Equal(t, last, l.Ending("p"))
	require.True(t, l.Ending("c").IsZero())
	require.True(t, l.Ending("unknown").IsZero())
	require.Equal(t, []string{"p"}, l.Parents("c"))
	require.Equal(t, []string{"c"}, l.Children("p"))
	require.Empty(t, l.Parents("unknown"))
	require.Empty(t, l.Children("unknown"))
}

// A position or a completion of an earlier run is durable state; a row that was
// only claimed is none.
func TestARestoredRowIsDurableStateIfItSaysAnything(t *testing.T) {
	for _, row := range []struct {
		name                  string
		complete, hasPosition bool
	}{{"claimed", false, false}, {"position", false, true}, {"complete", true, false}} {
		l := NewLineage(Strict)
		l.Restore("c", row.complete, row.hasPosition)
		l.Begin()
		l.Observe(Shard{ID: "p", Closed: true}, Shard{ID: "c", Parents: []string{"p"}})
		l.End()
		require.NoError(t, l.check())
		require.Equal(t, row.name != "claimed", l.AnyChildDurable("p"), row.name)
	}
}

// A parent that stays does not go on knowing a child that was forgotten, and one
// that was only named goes with its last child.
func TestForgettingLeavesNothingBehind(t *testing.T) {
	l := NewLineage(Strict)
	list := func(shards ...Shard) {
		l.Begin()
		l.Observe(shards...)
		l.End()
		require.NoError(t, l.check())
	}
	named := Shard{ID: "m", Parents: []string{"g", "named"}, Closed: true}
	list(Shard{ID: "g", Closed: true}, named, Shard{ID: "c", Parents: []string{"m"}})
	require.True(t, l.Trimmed("named"))
	require.Equal(t, []string{"g"}, l.Take())
	require.True(t, l.Read("g"))
	require.True(t, l.Complete("g"))
	require.Equal(t, []string{"m"}, l.Take())
	require.False(t, l.AnyChildDurable("g"))
	require.True(t, l.Read("m"))
	require.False(t, l.Read("m"), "read already")
	require.False(t, l.AnyChildDurable("g"), "read is not durable")
	require.True(t, l.Complete("m"))
	require.False(t, l.Complete("m"), "complete already")
	require.True(t, l.AnyChildDurable("g"), "but completion is")
	require.Equal(t, []string{"c"}, l.Take())
	l.Durable("c")
	for range 3 { // g is listed on, m is not
		list(Shard{ID: "g", Closed: true}, Shard{ID: "c"})
	}
	require.Equal(t, []string{"m"}, l.Forgettable())
	require.True(t, l.Forget("m"))
	require.NoError(t, l.check())
	require.False(t, l.Forget("m"), "it is gone")
	require.Empty(t, l.Children("g"))
	require.Empty(t, l.Parents("c"))
	require.Equal(t, Counts{Reading: 1, Complete: 1}, l.Counts(), "nothing of named is left: %v", l)
	list(Shard{ID: "g"}, Shard{ID: "c", Parents: []string{"m"}})
	require.Zero(t, l.Held(), "c was handed out: a parent that is forgotten does not come back")
}

// In Strict order reading a parent to its end is not enough: after a crash it
// would be read again, behind what its child had delivered by then.
func TestStrictOrderWaitsForTheCompletion(t *testing.T) {
	for _, order := range []Order{Strict, Relaxed} {
		l := NewLineage(order)
		l.Begin()
		l.Observe(Shard{ID: "p", Closed: true}, Shard{ID: "c", Parents: []string{"p"}})
		l.End()
		require.Equal(t, []string{"p"}, l.Take())
		require.True(t, l.Read("p"))
		if order == Relaxed {
			require.Equal(t, []string{"c"}, l.Take())
			continue
		}
		require.Empty(t, l.Take(), "read, but not durably complete")
		require.True(t, l.Complete("p"))
		require.Equal(t, []string{"c"}, l.Take())
	}
}

// What is still to be read is in the shards that wait for no listed one, or comes
// after them.
func TestUndoneIsTheFrontOfTheStream(t *testing.T) {
	l := NewLineage(Strict)
	l.Begin()
	l.Observe(Shard{ID: "c", Parents: []string{"p"}}, Shard{ID: "p", Closed: true, Parents: []string{"named"}})
	l.End()
	require.Equal(t, []string{"p"}, l.Undone(), "named is not listed, and c waits for p")
	require.Equal(t, 1, l.Held())
	require.True(t, l.Trimmed("named"))
	require.Zero(t, l.Held())
	require.Equal(t, []string{"p"}, l.Take())
	require.Equal(t, []string{"p"}, l.Undone())
	require.True(t, l.Read("p"))
	require.Equal(t, []string{"p"}, l.Undone(), "read is not done")
	require.True(t, l.Complete("p"))
	require.Equal(t, []string{"c"}, l.Undone())
	require.Equal(t, []string{"c"}, l.Take())
	require.True(t, l.Complete("c"))
	require.Empty(t, l.Undone())
}

// Answers come in the order of names, so that runs can be repeated.
func TestAnswersAreSorted(t *testing.T) {
	l := NewLineage(Strict)
	names := strings.Split("j c a g b i d f h e", " ")
	l.Begin()
	for _, n := range names {
		l.Observe(Shard{ID: "child-" + n, Parents: []string{"gone-" + n}}, Shard{ID: n, Closed: true}, Shard{ID: "next-" + n, Parents: []string{n}})
		l.Durable("next-" + n)
	}
	l.End()
	slices.Sort(names)
	prefixed := func(prefix string) (out []string) {
		for _, n := range names {
			out = append(out, prefix+n)
		}
		return out
	}
	require.Equal(t, slices.Sorted(slices.Values(slices.Concat(names, prefixed("child-")))), l.Undone(), "each next- waits for one of them")
	l.Begin()
	l.End()
	require.Equal(t, prefixed("gone-"), l.Missing())
	l.Take()
	for _, n := range names {
		require.True(t, l.Complete(n))
		require.True(t, l.Trimmed("gone-"+n))
	}
	l.Take()
	for _, n := range names {
		require.True(t, l.Read("child-"+n))
	}
	require.Equal(t, prefixed("child-"), l.Leaves())
	for range 2 {
		l.Begin()
		l.End()
	}
	require.Equal(t, names, l.Forgettable())
}
