package dynamostore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// A table whose time to live is enabled forgets finished shards and nothing else.
func TestFinishedShardsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := streamtest.New(streamtest.Config{})
		require.NoError(t, svc.CreateTable(streamtest.Table{Name: "checkpoints", Hash: "pipeline", Range: "partition", TTL: "expires_at"}))
		store := dynamostore.New(svc.Dynamo(), "checkpoints", dynamostore.ExpireAfter(dynamostore.FinishedShards(72*time.Hour)))
		save := func(partition string, complete bool) {
			cp, err := store.Claim(t.Context(), checkpoint.Key{Pipeline: "orders", Partition: partition}, "me")
			require.NoError(t, err)
			cp.Position, cp.Complete, cp.Revision = "1", complete, 1
			require.NoError(t, store.Save(t.Context(), cp))
		}
		left := func() (names []string) {
			for cp, err := range store.List(t.Context(), "orders", "") {
				require.NoError(t, err)
				names = append(names, cp.Partition)
			}
			return names
		}
		_, _, err := store.Begin(t.Context(), "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
		require.NoError(t, err)
		save("stream/s/finished", true)
		save("stream/s/open", false)
		save("backfill/1/segment/0-of-1", true)
		save("backfill/1/done", true)
		time.Sleep(71 * time.Hour)
		require.Len(t, left(), 4)
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"backfill/1/done", "backfill/1/segment/0-of-1", "stream/s/open"}, left())
		time.Sleep(10 * 365 * 24 * time.Hour)
		require.Len(t, left(), 3)
		any, err := store.HasAny(t.Context(), "orders")
		require.NoError(t, err)
		require.True(t, any)
	})
}

// A finished shard is listed by its stream for a day: a row that goes earlier
// would make the shard look new.
func TestFinishedShardsOutlastTheirListing(t *testing.T) {
	finished := checkpoint.Checkpoint{Key: checkpoint.Key{Pipeline: "orders", Partition: "stream/s/1"}, Complete: true}
	require.Equal(t, 48*time.Hour, dynamostore.FinishedShards(time.Minute)(finished))
	require.Equal(t, 100*time.Hour, dynamostore.FinishedShards(100*time.Hour)(finished))
}
