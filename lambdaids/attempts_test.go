package lambdaids_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
)

func TestAttemptsAndDeadLetters(t *testing.T) {
	transient := errors.New("transient")
	for _, tc := range []struct {
		name     string
		attempts int
		err      error
		dlErr    error
		noDL     bool
		tries    int
		state    lambdaids.State
	}{
		{"one attempt, no dead letter", 0, transient, nil, false, 1, lambdaids.Failed},
		{"permanent goes at once", 0, lambdaids.Permanent(transient), nil, false, 1, lambdaids.DeadLettered},
		{"permanent needs no further attempt", 5, fmt.Errorf("wrapped: %w", lambdaids.Permanent(transient)), nil, false, 1, lambdaids.DeadLettered},
		{"attempts used up", 3, transient, nil, false, 3, lambdaids.DeadLettered},
		{"attempts used up, nowhere to go", 3, transient, nil, true, 3, lambdaids.Failed},
		{"the dead-letter queue is down", 3, transient, errors.New("queue down"), false, 3, lambdaids.Failed},
	} {
		for _, concurrency := range []int{1, 2} {
			t.Run(fmt.Sprint(tc.name, concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					tries, letters := 0, 0
					var pauses []int
					cfg := lambdaids.Config[rec]{
						MaxAttempts: tc.attempts, Concurrency: concurrency, Logger: discard,
						Backoff: func(n int) time.Duration { pauses = append(pauses, n); return time.Second },
						DeadLetter: func(_ context.Context, _ *rec, err error) error {
							letters++
							require.ErrorIs(t, err, transient)
							return tc.dlErr
						},
						OnBatch: func(_ context.Context, r *lambdaids.BatchReport[rec]) {
							require.Equal(t, tc.state, r.State(1))
							require.Equal(t, lambdaids.Done, r.State(0))
							if tc.state == lambdaids.Failed {
								require.ErrorIs(t, r.RecordErr(1), transient)
								if tc.dlErr != nil {
									require.ErrorIs(t, r.RecordErr(1), tc.dlErr)
								}
							} else {
								require.NoError(t, r.RecordErr(1))
							}
						},
					}
					if tc.noDL {
						cfg.DeadLetter = nil
					}
					p := lambdaids.New(lambdaids.SQS(recID), func(_ context.Context, r *rec) error {
						if r.id != "b" {
							return nil
						}
						mu.Lock()
						defer mu.Unlock()
						tries++
						return tc.err
					}, cfg)
					resp, err := p.Process(t.Context(), recs("a", "b"))
					require.NoError(t, err)
					require.Equal(t, tc.tries, tries)
					require.Len(t, pauses, tc.tries-1)
					if tc.state == lambdaids.DeadLettered {
						require.Equal(t, 1, letters)
						require.Zero(t, resp.Len())
					} else {
						require.Equal(t, "b", answered(resp))
					}
				})
			})
		}
	}
}

// Out of time is not out of attempts: the record comes again instead of going to
// the dead letters.
func TestNoDeadLetterForLackOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		p := lambdaids.New(lambdaids.Kinesis(recID), failing("1"), lambdaids.Config[rec]{
			MaxAttempts: 3, Backoff: func(int) time.Duration { return time.Minute }, Logger: discard,
			DeadLetter: func(context.Context, *rec, error) error { t.Error("dead-lettered"); return nil },
		})
		resp, err := p.Process(ctx, recs("1", "2"))
		require.NoError(t, err)
		require.Equal(t, "1", answered(resp))
	})
}

// A dead-letter func that fails or panics settles nothing: the record comes again
// with both errors, and what panicked is counted, whichever of the two it was.
func TestL7_ADeadLetterThatIsLostIsAFailure(t *testing.T) {
	errQueue := errors.New("queue down")
	for _, tc := range []struct {
		name            string
		handler, letter func() error
		panics          uint64
	}{
		{"both return", func() error { return errPlanned }, func() error { return errQueue }, 0},
		{"the handler panics", func() error { panic(errPlanned) }, func() error { return errQueue }, 1},
		{"the dead-letter func panics", func() error { return errPlanned }, func() error { panic(errQueue) }, 1},
		{"both panic", func() error { panic(errPlanned) }, func() error { panic(errQueue) }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var failed error
			p := lambdaids.New(lambdaids.Kinesis(recID), func(context.Context, *rec) error { return tc.handler() }, lambdaids.Config[rec]{
				MaxAttempts: 1, DeadLetter: func(context.Context, *rec, error) error { return tc.letter() },
				OnFailed: func(_ context.Context, _ *rec, err error) { failed = err },
			})
			resp, err := p.Process(t.Context(), recs("1"))
			require.NoError(t, err)
			require.Equal(t, "1", answered(resp))
			require.ErrorIs(t, failed, errPlanned)
			require.ErrorIs(t, failed, errQueue)
			require.Equal(t, lambdaids.Stats{Batches: 1, Failed: 1, Panics: tc.panics}, p.Stats())
		})
	}
}

// shortLived is a context that ends once it was asked often enough.
type shortLived struct {
	context.Context
	asks int
}

func (c *shortLived) Err() error {
	if c.asks--; c.asks < 0 {
		return context.Canceled
	}
	return nil
}

// Whenever the time ends, a record keeps the error of its last attempt.
func TestTheErrorOfAnAttemptOutlivesTheTime(t *testing.T) {
	for asks := range 6 {
		ctx := &shortLived{t.Context(), asks}
		tried, told := 0, 0
		p := lambdaids.New(lambdaids.Kinesis(recID), func(context.Context, *rec) error {
			tried++
			return fmt.Errorf("attempt %d", tried)
		}, lambdaids.Config[rec]{
			MaxAttempts: 9,
			OnFailed: func(_ context.Context, _ *rec, err error) {
				told++
				require.EqualError(t, err, fmt.Sprint("attempt ", asks))
			},
		})
		resp, err := p.Process(ctx, recs("1"))
		require.NoError(t, err)
		require.Equal(t, "1", answered(resp))
		require.Equal(t, asks, tried, "asked before each attempt")
		require.Equal(t, min(tried, 1), told)
	}
}
