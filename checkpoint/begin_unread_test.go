package checkpoint_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// deaf is a store that cannot be asked for its rows, though it takes writes.
type deaf struct{ checkpoint.Store }

var errDeaf = errors.New("the answer was lost")

func (deaf) HasAny(context.Context, string) (bool, error) { return false, errDeaf }

// Whoever cannot tell whether there are rows must not conclude that there are
// none: neither is the pipeline fresh, nor is an origin written, which a later
// run would find beside rows that are older than it.
func TestBegin_AStoreThatCannotBeAskedIsNotEmpty(t *testing.T) {
	ctx, memory := t.Context(), checkpoint.NewMemory()
	_, err := memory.Claim(ctx, checkpoint.Key{Pipeline: "orders", Partition: "stream/s/1"}, checkpoint.NewOwner(""))
	require.NoError(t, err)
	o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(1_700_000_000, 0)}

	_, fresh, err := checkpoint.Begin(ctx, deaf{memory}, "orders", o)
	require.ErrorIs(t, err, errDeaf)
	require.False(t, fresh.Use())

	_, fresh, err = checkpoint.Begin(ctx, memory, "orders", o)
	require.NoError(t, err)
	require.False(t, fresh.Use(), "the rows are still there")

	_, fresh, err = checkpoint.Begin(ctx, deaf{checkpoint.NewMemory()}, "empty", o)
	require.ErrorIs(t, err, errDeaf)
	require.False(t, fresh.Use())
}
