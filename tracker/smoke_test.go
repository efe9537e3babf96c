package tracker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	var f Frontier[int]
	a, err := f.Track(ctx, 0, 1)
	require.NoError(t, err)
	b, _ := f.Track(ctx, 2, 1)
	c, _ := f.Track(ctx, 3, 1)
	require.True(t, b.Ack())
	require.False(t, b.Ack())
	_, ok := f.Position()
	require.False(t, ok)
	require.True(t, a.Ack())
	pos, ok := f.Position()
	require.True(t, ok)
	require.Equal(t, 2, pos)
	require.True(t, c.Nack(nil))
	require.True(t, f.Seal())
	select {
	case <-f.Done():
		t.Fatal("done early")
	default:
	}
	require.True(t, c.Discard())
	<-f.Done()
	require.Equal(t, Snapshot[int]{Position: 3, OK: true, Complete: true, Version: 2, Settled: 3}, f.Snapshot())
}
