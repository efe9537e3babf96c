package checkpoint_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommitter_IntervalCompletionAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := checkpoint.NewMemory()
		c := checkpoint.NewCommitter(store, "orders")
		defer func() { _ = c.Close(context.Background()) }()
		p, resumed, err := checkpoint.Open(ctx, c, "a", checkpoint.Integer[int]{})
		require.NoError(t, err)
		require.False(t, resumed.OK)

		var tickets []tracker.Ticket[checkpoint.At[int]]
		for i := range 4 {
			ticket, err := p.Track(ctx, 10*i, 1)
			require.NoError(t, err)
			tickets = append(tickets, ticket)
		}
		tickets[1].Ack()
		tickets[0].Ack()
		load := func() checkpoint.Checkpoint {
			cp, err := store.Load(ctx, p.Key())
			require.NoError(t, err)
			return cp
		}
		require.Equal(t, "", load().Position)
		time.Sleep(checkpoint.DefaultInterval)
		synctest.Wait()
		require.Equal(t, "10", load().Position)

		tickets[3].Ack()
		tickets[2].Discard()
		require.NoError(t, c.Flush(ctx))
		require.Equal(t, "30", load().Position)
		require.False(t, load().Complete)

		p.Seal()
		<-p.Committed()
		require.True(t, load().Complete)
		require.NoError(t, c.Close(ctx))

		c = checkpoint.NewCommitter(store, "orders")
		p, resumed, err = checkpoint.Open(ctx, c, "a", checkpoint.Integer[int]{})
		require.NoError(t, err)
		require.True(t, resumed.Complete)
		require.Equal(t, 30, resumed.Position)
		<-p.Committed()
		<-p.Settled()
		_, err = p.Track(ctx, 40, 1)
		require.ErrorIs(t, err, tracker.ErrSealed)
		require.NoError(t, c.Close(ctx))
	})
}

func TestCommitter_DrainWaitsAndCloseSavesLateAcks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := checkpoint.NewMemory()
		c := checkpoint.NewCommitter(store, "orders")
		defer func() { _ = c.Close(context.Background()) }()
		for i := range 20 {
			p, _, err := checkpoint.Open(ctx, c, fmt.Sprint(i), checkpoint.Integer[int]{})
			require.NoError(t, err)
			ticket, err := p.Track(ctx, i, 1)
			require.NoError(t, err)
			time.AfterFunc(time.Duration(i)*time.Second, func() { ticket.Ack() })
		}
		short, cancel := context.WithTimeout(ctx, time.Second/2)
		require.Equal(t, context.DeadlineExceeded, c.Drain(short))
		cancel()
		require.NoError(t, c.Drain(ctx))
		rows := 0
		for cp, err := range store.List(ctx, "orders", "") {
			require.NoError(t, err)
			require.Equal(t, cp.Partition, cp.Position)
			rows++
		}
		require.Equal(t, 20, rows)
		require.NoError(t, c.Close(ctx))
		require.NoError(t, c.Close(ctx))
		_, _, err := checkpoint.Open(ctx, c, "x", checkpoint.Integer[int]{})
		require.ErrorIs(t, err, checkpoint.ErrClosed)
	})
}
