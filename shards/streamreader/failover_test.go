package streamreader

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// regions are two replicas of one table; a write to the first reaches the
// second a little later, dated later, in other shards, under other numbers.
type regions struct {
	*world
	far *streamtest.Service
}

func (g *regions) put(n int) {
	g.world.put(n)
	time.Sleep(700 * time.Millisecond) // replication
	for i := range n {
		key := "k" + strconv.Itoa(i)
		_, err := g.far.Put(table, streamtest.Item{
			"id": &types.AttributeValueMemberS{Value: key},
			"v":  &types.AttributeValueMemberN{Value: strconv.Itoa(g.version[key])},
		})
		require.NoError(g.t, err)
	}
}

// A cut-off from the minimum over the shards that have rows skips what is in a
// shard without one. Here a row of its own says how far all shards are settled.
func TestS2_AnotherRegionResumesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 21}, 4)
		far := streamtest.New(streamtest.Config{Seed: 22, Region: "eu-west-1"})
		time.Sleep(time.Second) // the streams' labels differ
		require.NoError(t, far.CreateTable(streamtest.Table{Name: table, Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: 3}))
		g := &regions{w, far}
		w.begin(checkpoint.StartTrimHorizon)
		failover := func(c *Config) {
			c.Failover = &Failover{Margin: time.Minute}
			c.Discovery = 10 * time.Second
		}
		// Long before: settled, and not to be delivered again.
		g.put(100)
		r := w.start(nil, failover)
		w.awaitAll(time.Minute, 1)
		w.rotate()
		time.Sleep(time.Hour)
		g.put(100)
		w.awaitAll(time.Minute, 1)
		time.Sleep(time.Minute)
		w.rotate()
		time.Sleep(10 * time.Minute)
		r.crash()
		g.put(100) // not read in the first region at all, and its new shards have no rows

		settled := w.delivered()
		w.service = far
		r = w.start(nil, failover)
		w.awaitAll(time.Minute, 1)
		require.LessOrEqual(t, w.delivered()-settled, 200, "what was settled an hour before is left out")
		require.Empty(t, w.gaps)
		require.NotContains(t, w.asked(), "LATEST")

		// A restart over there goes on by its own rows.
		before := w.delivered()
		time.Sleep(10 * time.Second)
		r.drain()
		r = w.start(nil, failover)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, before, w.delivered())
		r.drain()
	})
}

// A pinned record holds the low watermark back, whatever the other shards do.
func TestS2_TheLowWatermarkStaysBehindWhatIsNotSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 23}, 4)
		w.begin(checkpoint.StartTrimHorizon)
		failover := func(c *Config) { c.Failover, c.Discovery = &Failover{}, 10*time.Second }
		var got []held
		time.Sleep(time.Minute)
		w.put(1) // one shard
		pinned := time.Now().Truncate(time.Second)
		r := w.start(w.hold(&got), failover)
		time.Sleep(time.Minute)
		for range 5 {
			w.put(100)
			time.Sleep(time.Minute)
			synctest.Wait()
			w.mu.Lock()
			batches := got
			w.mu.Unlock()
			for _, h := range batches[1:] {
				require.NoError(t, h.ack(t.Context(), nil))
			}
			require.False(t, w.low().After(pinned), "%v is not settled, the watermark is at %v", pinned, w.low())
		}
		require.NoError(t, got[0].ack(t.Context(), nil))
		time.Sleep(time.Minute)
		require.True(t, w.low().After(pinned))
		r.drain()
	})
}

// A shard that no listing has named yet holds the low watermark back as well: the
// first ones of a stream, and the child of a rotation.
func TestS2_TheLowWatermarkStaysBehindWhatIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 26, Inconsistency: streamtest.Inconsistency{Window: 20 * time.Second, Chance: 1}}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		r := w.start(nil, func(c *Config) { c.Failover, c.Discovery = &Failover{}, 10*time.Second })
		unlisted := 0
		for round := range 3 {
			written := time.Now().Truncate(time.Second)
			w.put(10)
			for range 30 {
				time.Sleep(time.Second)
				synctest.Wait()
				if len(w.lost(round+1)) > 0 {
					unlisted++
					require.False(t, w.low().After(written), "what was written at %v is not read, the watermark is at %v", written, w.low())
				}
			}
			w.awaitAll(time.Minute, 1)
			time.Sleep(3 * time.Minute)
			require.False(t, w.low().Before(written), "it is read, the watermark is at %v", w.low())
			w.rotate()
		}
		require.Greater(t, unlisted, 20)
		r.drain()
	})
}

// The origin is in the clock of the region that the pipeline began in: by another
// one's, what was written right behind it may be older.
func TestS2_TheOriginIsInAnotherRegionsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 27}, 1)
		slow := func() time.Time { return time.Now().Add(-30 * time.Second) }
		far := streamtest.New(streamtest.Config{Seed: 28, Region: "eu-west-1", Now: slow})
		require.NoError(t, far.CreateTable(streamtest.Table{Name: table, Hash: "id", View: types.StreamViewTypeNewAndOldImages}))
		time.Sleep(time.Hour)
		w.begin(checkpoint.StartLatest)
		w.fresh = nil // everything from the origin on is owed
		(&regions{w, far}).put(10)
		w.service = far // nothing was read in the first one
		r := w.start(nil, func(c *Config) { c.Failover = &Failover{Margin: time.Minute} })
		w.awaitAll(time.Minute, 1)
		r.drain()
	})
}

// A stream that is younger than what is owed is no replica's: what was written before
// it is in none. How long the old one was read behind its end changes nothing.
func TestS4_AReplacedStreamIsAGapWithFailoverToo(t *testing.T) {
	for name, readOn := range map[string]bool{"at once": false, "read behind its end": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{Seed: 29}, 1)
				failover := func(c *Config) { c.Failover, c.Discovery = &Failover{Margin: time.Minute}, 10*time.Second }
				w.begin(checkpoint.StartTrimHorizon)
				old := w.service.StreamARN(table)
				w.put(5)
				r := w.start(nil, failover)
				w.awaitAll(time.Minute, 1)
				time.Sleep(10 * time.Minute)
				r.crash()
				require.NoError(t, w.service.DisableStream(table))
				w.put(5) // in no stream
				time.Sleep(10 * time.Second)
				_, err := w.service.EnableStream(table)
				require.NoError(t, err)
				w.put(5)
				time.Sleep(10 * time.Minute)
				if readOn {
					r = w.start(nil, failover, func(c *Config) { c.StreamARN = old })
					<-r.done
					require.ErrorIs(t, r.err, ErrStreamEnded)
					r.drain()
				}
				r = w.start(nil, failover)
				select {
				case <-r.done:
					require.ErrorIs(t, r.err, shards.ErrGap)
				case <-time.After(time.Minute):
					require.Fail(t, "it reads on")
				}
				require.Len(t, w.gaps, 1)
				require.True(t, w.gaps[0].Gone)
				r.crash()

				r = w.start(nil, failover, func(c *Config) { c.Gap = ContinueOn })
				w.awaitAll(time.Minute, 3)
				time.Sleep(10 * time.Second)
				r.drain()
				r = w.start(nil, failover)
				time.Sleep(time.Minute)
				require.Len(t, w.gaps, 2, "once noted, it is not said again")
				r.drain()
			})
		})
	}
}

func (w *world) low() time.Time {
	for name, row := range w.rows() {
		if strings.HasSuffix(name, "/"+lowWatermark) {
			low, err := secondCodec{}.Decode(row.Position)
			require.NoError(w.t, err)
			return low
		}
	}
	return time.Time{}
}

// Without Failover another stream's rows are a stream that was replaced.
func TestS4_AnotherStreamsRowsAreAGapUnlessFailoverIsAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 24}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(1)
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		r.drain()
		require.NoError(t, w.service.DisableStream(table))
		time.Sleep(time.Second)
		_, err := w.service.EnableStream(table)
		require.NoError(t, err)
		r = w.start(nil)
		<-r.done
		require.ErrorIs(t, r.err, shards.ErrGap)
		r.crash()
	})
}

// Before the first record is acked no row can tell that the stream was replaced, as
// behind a backfill during which that happened: the origin does.
func TestS4_AStreamReplacedBeforeItsFirstRowIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 25}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(1)
		require.NoError(t, w.service.DisableStream(table))
		time.Sleep(time.Second)
		_, err := w.service.EnableStream(table)
		require.NoError(t, err)
		r := w.start(nil)
		select {
		case <-r.done:
			require.ErrorIs(t, r.err, shards.ErrGap)
		case <-time.After(time.Minute):
			require.Fail(t, "it reads on")
		}
		require.Len(t, w.gaps, 1)
		r.crash()
		require.Empty(t, w.rows(), "and says so again after a restart")
	})
}
