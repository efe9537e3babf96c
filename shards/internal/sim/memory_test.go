package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The verdict sees what grows by a little every day, in heap or in goroutines,
// and is not shaken by a stream that fills up in its first days, by a day that
// stands out, or by what is small.
func TestGrowthOfMemory(t *testing.T) {
	days := func(heap, goroutines func(day int) int) []Day {
		var ds []Day
		for n := range 30 {
			ds = append(ds, Day{Number: n + 1, Heap: uint64(heap(n)), Stacks: 1000, Rows: 500, Goroutines: goroutines(n)})
		}
		return ds
	}
	constant := func(v int) func(int) int { return func(int) int { return v } }
	for name, c := range map[string]struct {
		days  []Day
		grows bool
	}{
		"flat":     {days(constant(100_000), constant(100)), false},
		"fills up": {days(func(n int) int { return 10_000 * min(n, 5) }, constant(100)), false},
		"one day stands out": {days(func(n int) int {
			if n == 25 {
				return 1_000_000
			}
			return 100_000
		}, constant(100)), false},
		"a leak of heap":        {days(func(n int) int { return 100_000 + 1500*n }, constant(100)), true},
		"a leak of goroutines":  {days(constant(100_000), func(n int) int { return 100 + 2*n }), true},
		"a leak that is slight": {days(func(n int) int { return 100_000 + 100*n }, constant(100)), false},
	} {
		_, growth, ok := Growth(c.days)
		require.True(t, ok, name)
		require.Equal(t, c.grows, growth > MaxGrowth, "%s: %.3f", name, growth)
		require.Equal(t, c.grows, Report{Days: c.days}.Bad(), name)
	}
	_, _, ok := Growth(make([]Day, flatDays-1))
	require.False(t, ok, "too few days for a verdict")
}

// Nine days of one reader and its predecessors: a verdict is given, and it is flat.
func TestMemoryIsFlat(t *testing.T) {
	cfg := Config{Seed: 7, Shards: 3, Duration: flatDays * 24 * time.Hour, WriteEvery: 4 * time.Hour, IdlePoll: 30 * time.Minute, Reshape: true, Calm: true}
	var told []Day
	cfg.OnDay = func(d Day) { told = append(told, d) }
	var r Report
	synctest.Test(t, func(*testing.T) { r = Run(cfg) })
	require.Empty(t, r.Faults(), r.Details())
	require.Equal(t, told, r.Days)
	require.Len(t, told, flatDays)
	require.Greater(t, r.Cost.Age, 5*24*time.Hour, "the last reader lived through the days that are judged")
	require.LessOrEqual(t, r.Cost.Goroutines, r.Cost.Open+3, "one a shard, the discovery, the committer, the caller")
	require.Contains(t, r.Memory(), "memory flat")
}
