package streamreader

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func TestReadsResumesAndFollowsRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 1}, 4)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(100)
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		w.rotate()
		w.put(100)
		w.awaitAll(time.Minute, 1)
		r.drain()
		require.Equal(t, 200, w.delivered(), "each once")

		// A restart goes on where the last one ended.
		w.put(100)
		w.rotate()
		w.put(100)
		r = w.start(nil)
		w.awaitAll(time.Minute, 1)
		r.drain()
		require.Equal(t, 400, w.delivered(), "each once")
		require.Zero(t, w.stale)
		require.NotContains(t, w.asked(), "LATEST")

		// A crash repeats at most what was not saved, and loses nothing.
		w.put(50)
		r = w.start(nil)
		w.awaitAll(time.Minute, 1)
		r.crash()
		r = w.start(nil)
		w.put(50)
		w.awaitAll(time.Minute, 1)
		r.drain()
		require.Empty(t, w.gaps)
	})
}
