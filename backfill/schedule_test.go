package backfill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A report is due at after, then at doubled ages; one that was looked for late is
// not made up for.
func TestStallClock(t *testing.T) {
	var c stallClock
	a, b := &batch{}, &batch{}
	for _, look := range []struct {
		e        *batch
		age      time.Duration
		reported bool
		again    time.Duration
	}{
		{a, 0, false, 10},
		{a, 9, false, 1},
		{a, 10, true, 10},
		{a, 15, false, 5},
		{a, 20, true, 20},
		{a, 95, true, 65},
		{a, 159, false, 1},
		{b, 3, false, 7},
		{b, 15, true, 5},
		{a, 160, true, 160}, // again, as if it were new
	} {
		reported, again := c.report(look.e, look.age, 10)
		require.Equal(t, look.reported, reported, "at %d", look.age)
		require.Equal(t, look.again, again, "at %d", look.age)
	}
}

func TestFlushSchedule(t *testing.T) {
	s := schedule{every: time.Second}
	now := time.Unix(0, 0)
	require.Zero(t, s.due(now))
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		s.sent(now)
		pause *= time.Second
		require.Equal(t, pause, s.due(now))
		require.Equal(t, -time.Second, s.due(now.Add(pause+time.Second)))
		now = now.Add(pause)
	}
	s.progress()
	require.Zero(t, s.due(now), "the pause that runs stays")
	s.sent(now)
	require.Equal(t, time.Second, s.due(now))
}
