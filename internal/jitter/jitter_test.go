package jitter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPart(t *testing.T) {
	draw := func(name string, n int, after time.Duration) (part float64) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(after)
			part = Part(name, n)
		})
		require.GreaterOrEqual(t, part, 0.0)
		require.Less(t, part, 1.0)
		return part
	}
	require.NotEqual(t, draw("a", 1, 0), draw("a", 1, 0), "by chance")
	Fix()
	first := draw("a", 1, 0)
	require.Equal(t, first, draw("a", 1, 0))
	require.NotEqual(t, first, draw("b", 1, 0))
	require.NotEqual(t, first, draw("a", 2, 0))
	require.NotEqual(t, first, draw("a", 1, time.Nanosecond))
	sum := 0.0
	for n := range 1000 {
		sum += draw("a", n, time.Second)
	}
	require.InDelta(t, 500, sum, 50)
}
