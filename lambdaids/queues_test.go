package lambdaids_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
)

func TestFIFOStopsPerGroupOrWhole(t *testing.T) {
	batch := []rec{{"a1", "a"}, {"b1", "b"}, {"a2", "a"}, {"b2", "b"}, {"n1", ""}, {"n2", ""}}
	for after, want := range map[lambdaids.AfterFailure]string{
		lambdaids.Stop:     "b1 b2",
		lambdaids.StopAll:  "b1 a2 b2 n1 n2",
		lambdaids.Continue: "b1 b2", // b2 was done, behind b1: reported too
	} {
		for _, concurrency := range []int{1, 3} {
			if after == lambdaids.StopAll && concurrency > 1 {
				continue // what runs beside b1 is not fixed
			}
			p := lambdaids.New(lambdaids.SQSFIFO(recID, recGroup), failing("b1"),
				lambdaids.Config[rec]{AfterFailure: after, Concurrency: concurrency, Logger: discard})
			resp, err := p.Process(t.Context(), batch)
			require.NoError(t, err)
			require.Equal(t, want, answered(resp), "%v", after)
		}
	}
}

// What another group did behind the failure that stopped the batch is named too;
// of partitions it is not: there only a partition's own rest may come again.
func TestStopAllTakesTheOtherGroupsAlong(t *testing.T) {
	batch := []rec{{"1", "a"}, {"2", "b"}, {"3", "c"}, {"4", "c"}}
	handler := func(_ context.Context, r *rec) error {
		switch r.id {
		case "2":
			time.Sleep(2 * time.Second)
			return errPlanned
		case "3":
			time.Sleep(time.Second)
		case "4":
			time.Sleep(3 * time.Second)
		}
		return nil
	}
	cfg := lambdaids.Config[rec]{AfterFailure: lambdaids.StopAll, Concurrency: 3, Logger: discard}
	done := lambdaids.Stats{Batches: 1, Done: 3, Failed: 1}
	synctest.Test(t, func(t *testing.T) {
		answer, stats := process(t, lambdaids.SQS(recID), handler, cfg, batch)
		require.Equal(t, "2", answer)
		require.Equal(t, done, stats)
	})
	synctest.Test(t, func(t *testing.T) {
		partitions := lambdaids.Kafka(recGroup, func(r *rec) int64 { return int64(mustAtoi(r.id)) })
		answer, stats := process(t, partitions, handler, cfg, batch)
		require.Equal(t, "b@2", answer)
		require.Equal(t, done, stats)
	})
	synctest.Test(t, func(t *testing.T) {
		answer, stats := process(t, lambdaids.SQSFIFO(recID, recGroup), handler, cfg, batch)
		require.Equal(t, "2 3 4", answer)
		require.Equal(t, done.Add(lambdaids.Stats{Redelivered: 2}), stats)
	})
}

// process gives a batch to a new Processor.
func process[ID lambdaids.Identifier](
	t *testing.T, src lambdaids.Source[rec, ID], handler lambdaids.Handler[rec], cfg lambdaids.Config[rec], batch []rec,
) (answer string, stats lambdaids.Stats) {
	p := lambdaids.New(src, handler, cfg)
	resp, err := p.Process(t.Context(), batch)
	require.NoError(t, err)
	return answered(resp), p.Stats()
}

// On a standard queue nothing is ordered, keys or not: the rest goes on.
func TestAStandardQueueGoesOn(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		p := lambdaids.New(lambdaids.SQS(recID), failing("a1"), lambdaids.Config[rec]{Concurrency: concurrency, Key: recGroup, Logger: discard})
		resp, err := p.Process(t.Context(), []rec{{"a1", "a"}, {"b1", "b"}, {"a2", "a"}})
		require.NoError(t, err)
		require.Equal(t, "a1", answered(resp))
		require.EqualValues(t, 2, p.Stats().Done)
	}
}
