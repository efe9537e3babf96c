package checkpoint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Stats says what is stuck, since when, and why.
func TestStats_NameTheStuckItem(t *testing.T) {
	bubble(t, func(b *scene) {
		t := b.T
		q := b.open(b.c, "b")
		p := b.open(b.c, "a")
		tickets := b.track(p, 1, 2, 3)
		tickets[0].Ack()
		tickets[2].Ack()
		tickets[1].Nack(errors.New("rejected"))
		b.c.Stats()
		time.Sleep(time.Minute)
		stats := b.c.Stats()
		require.Len(t, stats, 2)
		require.Equal(t, q.Key(), stats[1].Key)
		require.Zero(t, stats[1].OldestAge)
		s := stats[0]
		require.Equal(t, "1", s.Position)
		require.Equal(t, "1", s.Durable)
		require.False(t, s.Dirty)
		require.Equal(t, 1, s.Outstanding)
		require.Equal(t, time.Minute, s.OldestAge)
		require.True(t, s.OldestNacked)
		tickets[1].Discard()
		require.Zero(t, b.c.Stats()[0].OldestAge)
		require.Equal(t, "3", b.c.Stats()[0].Position)
		require.True(t, b.c.Stats()[0].Dirty)
		p.Seal()
		<-p.Committed()
		require.Len(t, b.c.Stats(), 1)
	})
}

// What was resumed from is the position until something settles.
func TestStats_OfAResumedPartition(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		b.track(p, 7)[0].Ack()
		require.NoError(b, p.Release(b.Context()))
		b.open(b.c, "a")
		s := b.c.Stats()[0]
		require.Equal(b, "7", s.Position)
		require.Equal(b, "7", s.Durable)
		require.False(b, s.Dirty)
	})
}
