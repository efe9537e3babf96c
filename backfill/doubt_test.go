package backfill

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// endless is a backfill of numbers whose acks are refused as acks says.
type endless struct {
	n    int
	acks func(n int) error
}

func (e *endless) ReadBackfill(context.Context) (int, AckFunc, error) {
	e.n++
	n := e.n
	return n, func(context.Context, error) error { return e.acks(n) }, nil
}

// A source that lost a claim while the store's rows show nothing of it: what is
// out will never settle, so the attempt asks to be begun again.
func TestB4_RefusedAcksThatTheRowsDoNotExplain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := checkpoint.NewCommitter(checkpoint.NewMemory(), "p")
		src := &endless{acks: func(n int) error { return fmt.Errorf("test: batch %d: %w", n, checkpoint.ErrFenced) }}
		r, err := New(BackfillOnly(src), Config{Committer: c, Mode: BackfillOnlyMode})
		require.NoError(t, err)
		var acks []AckFunc
		for range 2 {
			_, ack, err := r.Read(bg)
			require.NoError(t, err)
			acks = append(acks, ack)
		}
		for _, ack := range acks {
			require.ErrorIs(t, ack(bg, nil), checkpoint.ErrFenced)
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(bg, time.Second)
			_, _, err = r.Read(ctx)
			cancel()
			require.ErrorIs(t, err, ErrDisplaced)
			require.NotErrorIs(t, err, checkpoint.ErrFenced)
			require.NotErrorIs(t, err, ErrSuperseded)
			require.ErrorContains(t, err, "test: batch 1", "the first that was refused")
		}
		ctx, cancel := context.WithCancel(bg)
		cancel()
		require.ErrorIs(t, r.Close(ctx), context.Canceled)
		require.NoError(t, c.Close(bg))
	})
}

// Another error of an ack raises no doubt, and the batch can be acked again.
func TestB4_FailedAcksRaiseNoDoubt(t *testing.T) {
	down := errors.New("test: down")
	c := checkpoint.NewCommitter(checkpoint.NewMemory(), "p")
	src := &endless{acks: func(int) error { return down }}
	r, err := New(BackfillOnly(src), Config{Committer: c, Mode: BackfillOnlyMode})
	require.NoError(t, err)
	_, ack, err := r.Read(bg)
	require.NoError(t, err)
	require.Equal(t, down, ack(bg, nil))
	_, _, err = r.Read(bg)
	require.NoError(t, err)
	src.acks = func(int) error { return nil }
	require.NoError(t, ack(bg, nil))
	require.EqualValues(t, 1, r.Stats().Backfill.Delivered)
	require.Equal(t, 1, r.Stats().Backfill.Outstanding)
	r.Abort()
	require.NoError(t, r.Close(bg))
	require.NoError(t, c.Close(bg))
}

// A source may open its segments again: a claim that is newer than the attempt's
// first is its own then, and only another's displaces it.
func TestB4_ReopenedSegmentsAreTheAttemptsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := calm(8)
		r := newRig(t, s)
		r.next()
		for i := range 2 {
			_, _, err := checkpoint.Open(bg, r.c, r.src.run.Partition(i), checkpoint.Integer[int]{})
			require.NoError(t, err)
			require.NoError(t, r.r.ask(bg))
		}
		_, err := s.mem.Claim(bg, checkpoint.Key{Pipeline: "p", Partition: r.src.run.Partition(1)}, "another")
		require.NoError(t, err)
		require.ErrorIs(t, r.r.ask(bg), ErrDisplaced)
	})
}

func TestVerdictsKeepTheirCause(t *testing.T) {
	cause := fmt.Errorf("test: %w", checkpoint.ErrFenced)
	require.Equal(t, ErrDisplaced, withCause(ErrDisplaced, nil))
	err := withCause(ErrDisplaced, cause)
	require.ErrorIs(t, err, ErrDisplaced)
	require.NotErrorIs(t, err, checkpoint.ErrFenced)
	require.ErrorContains(t, err, cause.Error())
	err = withCause(ErrSuperseded, cause)
	require.ErrorIs(t, err, ErrSuperseded)
	require.ErrorIs(t, err, checkpoint.ErrFenced)
}
