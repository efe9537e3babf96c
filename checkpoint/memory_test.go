package checkpoint_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

func TestMemory_KeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) checkpoint.Store { return checkpoint.NewMemory() })
}

func TestMemory_AClaimHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := checkpoint.NewMemory()
		key := checkpoint.Key{Pipeline: "orders", Partition: "a"}
		for range 2 {
			time.Sleep(time.Hour)
			row, err := m.Claim(t.Context(), key, "me")
			require.NoError(t, err)
			require.True(t, row.UpdatedAt.Equal(time.Now()))
		}
	})
}

// Beside an error nothing is there, and nothing was created.
func TestMemory_SaysNothingBesideAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := checkpoint.NewMemory()
	has, err := m.HasAny(ctx, "orders")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, has)
	_, created, err := m.Begin(ctx, "orders", checkpoint.Origin{})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, created)
}
