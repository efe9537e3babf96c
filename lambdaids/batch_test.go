package lambdaids_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
)

func TestBatchDrivenByHand(t *testing.T) {
	b := lambdaids.NewBatch(lambdaids.Kinesis(recID), recs("998", "999", "1000", "1001"), lambdaids.DefaultPolicy)
	require.True(t, b.Done(0))
	require.True(t, b.Done(3))
	require.True(t, b.Fail(2, errPlanned))
	require.False(t, b.Done(2), "what failed stays failed")
	require.False(t, b.Fail(2, nil))
	resp, report, err := b.Answer()
	require.NoError(t, err)
	require.Equal(t, "999", answered(resp), "the one never marked counts as failed")
	require.Equal(t, lambdaids.Unprocessed, report.State(1))
	require.ErrorIs(t, report.RecordErr(1), lambdaids.ErrUnprocessed)
	var again []int
	for i := range report.Redelivered() {
		again = append(again, i)
	}
	require.Equal(t, []int{3}, again)
	require.True(t, b.Done(1))
	require.True(t, b.Fail(0, nil), "a later failure takes a mark back")
	resp, _, err = b.Answer()
	require.NoError(t, err)
	require.Equal(t, "998", answered(resp))
}

// Failures gathered from many goroutines are all there.
func TestBatchFromManyGoroutines(t *testing.T) {
	var ids []string
	for i := range 200 {
		ids = append(ids, fmt.Sprint("m", i))
	}
	b := lambdaids.NewBatch(lambdaids.SQS(recID), recs(ids...), lambdaids.DefaultPolicy)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			if i%2 == 0 {
				b.Done(i)
			} else {
				b.Fail(i, errPlanned)
			}
		})
	}
	wg.Wait()
	resp, _, err := b.Answer()
	require.NoError(t, err)
	require.Equal(t, 100, resp.Len())
}

// What is marked after an answer is none of its report's.
func TestAReportStaysAsItWas(t *testing.T) {
	b := lambdaids.NewBatch(lambdaids.SQS(recID), recs("a", "b", "c"), lambdaids.DefaultPolicy)
	require.True(t, b.Fail(0, errPlanned))
	require.True(t, b.Fail(1, nil))
	resp, before, err := b.Answer()
	require.NoError(t, err)
	require.Equal(t, "a b c", answered(resp))
	require.True(t, b.Done(2))
	_, after, err := b.Answer()
	require.NoError(t, err)
	for _, report := range []*lambdaids.BatchReport[rec]{before, after} {
		require.Equal(t, errPlanned, report.RecordErr(0))
		require.EqualError(t, report.RecordErr(1), "lambdaids: marked as failed without an error")
	}
	require.Equal(t, lambdaids.Unprocessed, before.State(2))
	require.ErrorIs(t, before.RecordErr(2), lambdaids.ErrUnprocessed)
	require.Equal(t, lambdaids.Done, after.State(2))
	require.NoError(t, after.RecordErr(2))
}

// And it is read while others go on marking: the race detector sees a shared map.
func TestAReportIsReadWhileOthersMark(t *testing.T) {
	b := lambdaids.NewBatch(lambdaids.SQS(recID), recs("a", "b"), lambdaids.DefaultPolicy)
	require.True(t, b.Fail(0, errPlanned))
	_, report, err := b.Answer()
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { b.Fail(1, errPlanned) })
	require.Equal(t, errPlanned, report.RecordErr(0))
	require.Equal(t, lambdaids.ErrUnprocessed, report.RecordErr(1))
	wg.Wait()
}
