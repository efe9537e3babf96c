package lambdaids_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
)

// What could not be reported of one batch is no part of what is told of the next
// one in the same warm process.
func TestWhatIsToldIsOfThisBatchAlone(t *testing.T) {
	var told []string
	p := lambdaids.New(lambdaids.SQS(recID), func(_ context.Context, r *rec) error {
		if r.id == "good" {
			return nil
		}
		return errPlanned
	}, lambdaids.Config[rec]{
		Logger:         discard,
		OnUnreportable: func(_ context.Context, r *rec, _ error) { told = append(told, "unreportable "+r.id) },
		OnFailed:       func(_ context.Context, r *rec, _ error) { told = append(told, "failed "+r.id) },
	})
	_, err := p.Process(t.Context(), recs("good", "bad", ""))
	require.Error(t, err)
	require.Equal(t, []string{"unreportable ", "failed bad", "failed "}, told)
	require.EqualValues(t, 1, p.Stats().Unreportable)

	for range 3 { // pooled memory may or may not be used again
		told = nil
		_, err = p.Process(t.Context(), recs("good", "worse", "good"))
		require.NoError(t, err)
		require.Equal(t, []string{"failed worse"}, told)
		require.EqualValues(t, 1, p.Stats().Unreportable)
	}
}

// A message that was done behind a failed one of its group is named too: left
// out, it would be deleted while what it must follow comes again.
func TestWhatWasDoneBehindAFailureOfItsGroupComesAgain(t *testing.T) {
	messages := []rec{{"m1", "a"}, {"m2", "b"}, {"m3", "a"}, {"m4", "b"}, {"m5", "a"}}
	b := lambdaids.NewBatch(lambdaids.SQSFIFO(recID, recGroup), messages, lambdaids.DefaultPolicy)
	for _, i := range []int{0, 1, 3, 4} {
		require.True(t, b.Done(i))
	}
	require.True(t, b.Fail(2, errors.New("refused")))
	resp, report, err := b.Answer()
	require.NoError(t, err)
	require.Equal(t, "m3 m5", answered(resp))
	var again []string
	for _, r := range report.Redelivered() {
		again = append(again, r.id)
	}
	require.Equal(t, []string{"m5"}, again)
}

// Each record of each batch is handed out once, whatever lanes the one before had.
func TestL10_LanesAreThoseOfTheirBatch(t *testing.T) {
	for _, key := range []func(*rec) string{nil, recGroup} {
		var mu sync.Mutex
		handled := map[string]int{}
		p := lambdaids.New(lambdaids.Kinesis(recID), func(_ context.Context, r *rec) error {
			mu.Lock()
			defer mu.Unlock()
			handled[r.id]++
			return nil
		}, lambdaids.Config[rec]{Concurrency: 3, Key: key})
		for _, batch := range [][]rec{
			{{"1", "a"}, {"2", "b"}, {"3", "a"}, {"4", "c"}},
			{{"5", "a"}, {"6", "a"}},
			{{"7", "b"}, {"8", "c"}, {"9", "c"}, {"10", "b"}, {"11", "d"}},
		} {
			clear(handled)
			resp, err := p.Process(t.Context(), batch)
			require.NoError(t, err)
			require.Zero(t, resp.Len())
			want := map[string]int{}
			for _, r := range batch {
				want[r.id] = 1
			}
			require.Equal(t, want, handled)
		}
	}
}

// A processor that waits for its next batch holds nothing of the last one's event.
func TestL10_TheEventIsLetGo(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		p := lambdaids.New(lambdaids.Kinesis(recID), failing("1"), lambdaids.Config[rec]{
			AfterFailure: lambdaids.Continue, Concurrency: concurrency, Logger: discard,
			OnBatch: func(context.Context, *lambdaids.BatchReport[rec]) {},
		})
		event := func() weak.Pointer[rec] {
			batch := recs("1", "2", "")
			_, err := p.Process(t.Context(), batch)
			require.NoError(t, err)
			return weak.Make(&batch[0])
		}()
		runtime.GC() // once: the second one empties pools
		require.Nil(t, event.Value())
		runtime.KeepAlive(p)
	}
}
