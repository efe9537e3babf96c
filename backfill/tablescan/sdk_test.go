package tablescan

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// The real SDK client, with JSON, signing and its own retries: errors are told
// apart as they really come, and the plan's time is the server's.
func TestWithTheRealClient(t *testing.T) {
	client := func(table *streamtest.Service) *dynamodb.Client {
		return dynamodb.NewFromConfig(table.AWSConfig(), func(o *dynamodb.Options) {
			o.Retryer = aws.NopRetryer{} // ours is under test
		})
	}
	t.Run("everything arrives through faults", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			table, seen := fill(t, "S and N", 120), map[string]int{}
			time.Sleep(1500 * time.Millisecond)
			var plan backfill.Plan
			table.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: 0.1, LimitExceeded: 0.1, Internal: 0.1, Cut: 0.1, LostAnswer: 0.1}})
			before := time.Now()
			s := start(t, checkpoint.NewMemory(), Config{Client: client(table), Segments: 3, Limit: 7}, &plan)
			require.False(t, plan.StartTime.Before(before.Truncate(time.Second)))
			require.Equal(t, plan.StartTime, plan.StartTime.Truncate(time.Second))
			require.Contains(t, plan.Source, ":table/t")
			s.all(seen)
			require.Len(t, seen, 120)
			require.Positive(t, s.Progress().Retries)
			require.Positive(t, s.Progress().Units)
			s.end()
		})
	})
	t.Run("a table that is not there", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s, err := New(Config{Client: client(fill(t, "S", 1)), Table: "another"})
			require.NoError(t, err)
			_, err = s.PlanBackfill(context.Background())
			require.ErrorIs(t, err, ErrTableGone)
		})
	})
	t.Run("a request that cannot succeed", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := start(t, checkpoint.NewMemory(), Config{Client: client(fill(t, "S", 1)), Projection: "((("}, &backfill.Plan{})
			require.ErrorContains(t, readErr(s), "ValidationException")
			s.crash()
		})
	})
	t.Run("the end of its context is no failure", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			table := fill(t, "S", 1)
			table.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: 1}})
			s, err := New(Config{Client: client(table), Table: "t"})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err = s.PlanBackfill(ctx)
			require.Equal(t, context.DeadlineExceeded, err)
		})
	})
}
