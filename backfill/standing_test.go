package backfill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// A row of a segment counts for the plan that cut the table into as many, and for
// no other: two complete fifths are not a whole of two halves.
func TestSegmentsOfAnotherCountSayNothing(t *testing.T) {
	row := func(name, position string, complete bool) checkpoint.Checkpoint {
		return checkpoint.Checkpoint{Key: checkpoint.Key{Pipeline: "p", Partition: name}, Position: position, Complete: complete, Fence: 1}
	}
	plan, err := Plan{Segments: 2}.encode()
	require.NoError(t, err)
	st, err := standOf([]checkpoint.Checkpoint{
		row("backfill/1/plan", plan, true),
		row("backfill/1/done", "", false),
		row("backfill/1/segment/0-of-5", "x", true),
		row("backfill/1/segment/1-of-5", "x", true),
		row("backfill/1/segment/2-of-5", "x", false),
		row("backfill/1/segment/0-of-2", "x", false),
	})
	require.NoError(t, err)
	require.Equal(t, 2, st.Segments)
	require.Zero(t, st.Complete)
	require.Len(t, st.Waiting, 1)
	require.Equal(t, Backfilling, resume(st.evidence, BackfillThenStream))
}

// What rows say of generations: the newest plan that was saved is the one that
// counts, whatever lies about of others, and a new one gets a number that no row
// has.
func TestB8_StandingNamesTheNewestPlan(t *testing.T) {
	at := func(g uint64, p Plan) string {
		s, err := p.encode()
		require.NoError(t, err)
		return fmt.Sprintf("backfill/%d/plan=%s", g, s)
	}
	for name, c := range map[string]struct {
		rows                []string // name=position
		generation, highest uint64
		stale               []string
	}{
		"nothing":                           {},
		"a plan":                            {[]string{at(3, Plan{Anchor: "x"})}, 3, 3, nil},
		"a plan that was never saved":       {[]string{"backfill/3/plan="}, 0, 0, nil},
		"one of both":                       {[]string{at(3, Plan{}), "backfill/4/plan="}, 3, 3, nil},
		"a newer one, in any order":         {[]string{at(10, Plan{}), at(9, Plan{})}, 10, 10, []string{"backfill/9/plan"}},
		"rows whose plan is gone":           {[]string{"backfill/4/done=", "backfill/5/segment/0-of-2="}, 0, 5, nil},
		"rows older and newer than a plan":  {[]string{"backfill/1/done=", at(2, Plan{}), "backfill/7/done="}, 2, 7, []string{"backfill/1/done"}},
		"a stale plan that was never saved": {[]string{"backfill/1/plan=", at(2, Plan{})}, 2, 2, []string{"backfill/1/plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			var rows []checkpoint.Checkpoint
			for _, r := range c.rows {
				partition, position, _ := strings.Cut(r, "=")
				rows = append(rows, checkpoint.Checkpoint{Key: checkpoint.Key{Pipeline: "p", Partition: partition}, Position: position, Fence: 1})
			}
			st, err := standOf(rows)
			require.NoError(t, err)
			require.Equal(t, c.generation, st.Generation)
			require.Equal(t, c.highest, st.Highest)
			var stale []string
			for _, key := range st.Stale {
				stale = append(stale, key.Partition)
			}
			require.Equal(t, c.stale, stale)
			require.False(t, st.Done)
			require.Empty(t, st.Waiting)
		})
	}
}
