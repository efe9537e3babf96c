package backfill

import (
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
