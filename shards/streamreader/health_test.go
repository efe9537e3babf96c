package streamreader

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

var _ StreamsClient = (*dynamodbstreams.Client)(nil)

// A pipeline that looks alive and moves nothing: readiness must turn red, and say
// where; and green again once it moves.
func TestHealthTurnsRedAndGreenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 31}, 2)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(20)
		began := time.Now()
		var got []held
		r := w.start(w.hold(&got), func(c *Config) { c.MaxRecords, c.PageLimit = 20, 5 })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		h := r.reader.Health()
		_, stalled := h.Stalled(time.Now(), began, time.Minute)
		require.False(t, stalled)
		require.Equal(t, 2, h.Lineage.Reading)
		require.Equal(t, "reading", h.Shards[0].Phase)
		require.InDelta(t, 10, h.Shards[0].Lag(time.Now()).Seconds(), 1)

		// Nothing is acked: the limit stops reading, and that is not ready.
		time.Sleep(5 * time.Minute)
		ids, stalled := r.reader.Health().Stalled(time.Now(), began, time.Minute)
		require.True(t, stalled)
		require.Len(t, ids, 2)
		for w.delivered() < 20 || r.reader.Health().InFlight > 0 {
			w.mu.Lock()
			batches := got
			got = nil
			w.mu.Unlock()
			for _, b := range batches {
				require.NoError(t, b.ack(t.Context(), nil))
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_, stalled = r.reader.Health().Stalled(time.Now(), began, time.Minute)
		require.False(t, stalled)

		// The service fails: no success, no readiness, and the reason is told.
		w.service.SetFaults(map[string]streamtest.FaultRates{"*": {Internal: 1}})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		h = r.reader.Health()
		ids, stalled = h.Stalled(time.Now(), began, time.Minute)
		require.True(t, stalled)
		require.Len(t, ids, 2)
		require.Contains(t, h.Shards[0].LastError, "InternalServerError")
		require.False(t, h.Shards[0].FailingSince.IsZero())
		require.Error(t, h.DiscoveryError)

		w.service.SetFaults(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		h = r.reader.Health()
		_, stalled = h.Stalled(time.Now(), began, time.Minute)
		require.False(t, stalled)
		require.Empty(t, h.Shards[0].LastError)
		require.NoError(t, h.DiscoveryError)
		r.drain()
	})
}

// The real SDK client, its JSON and its error codes included; only the socket
// is missing.
func TestWithTheSDKsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 32}, 3)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(100)
		sdk := func(c *Config) { c.Client = dynamodbstreams.NewFromConfig(w.service.AWSConfig()) }
		w.service.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: .1, LimitExceeded: .1, Internal: .1, Cut: .1}})
		r := w.start(nil, sdk)
		w.awaitAll(5*time.Minute, 1)
		w.service.ExpireIterators()
		w.rotate()
		w.put(100)
		w.awaitAll(5*time.Minute, 1)
		w.service.SetFaults(nil)
		time.Sleep(time.Minute)
		r.drain() // every shard has a durable position

		w.put(100)
		require.NoError(t, w.service.Trim(table, 0))
		r = w.start(nil, sdk)
		w.await(time.Minute, "the reader ends", func() bool { return r.reader.Err() != nil })
		<-r.done
		require.ErrorIs(t, r.err, shards.ErrGap)
	})
}
