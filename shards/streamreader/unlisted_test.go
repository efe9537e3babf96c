package streamreader

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// unlisting is a client whose listings leave one shard out, and that is
// throttled when it is first asked for that shard.
type unlisting struct {
	StreamsClient
	hidden   string
	throttle atomic.Int32
	unknown  atomic.Int32 // answers that say so of any shard
}

func (u *unlisting) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := u.StreamsClient.DescribeStream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	d := *out.StreamDescription
	d.Shards = nil
	for _, sh := range out.StreamDescription.Shards {
		if aws.ToString(sh.ShardId) != u.hidden {
			d.Shards = append(d.Shards, sh)
		}
	}
	out.StreamDescription = &d
	return out, nil
}

func (u *unlisting) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if aws.ToString(in.ShardId) == u.hidden && u.throttle.Add(-1) >= 0 {
		return nil, &types.LimitExceededException{}
	}
	if u.unknown.Add(-1) >= 0 {
		return nil, &types.ResourceNotFoundException{}
	}
	return u.StreamsClient.GetShardIterator(ctx, in, opts...)
}

// A shard with a checkpoint that no listing names is asked for. Only the
// service's word that it does not know it is an answer: a throttle taken for one
// would give up what is still there.
func TestAThrottledQuestionIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 31}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(10)
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		time.Sleep(5 * time.Second)
		r.drain()
		w.put(10)

		hidden := w.service.Shards(table)[0].ID
		w.rotate()
		w.put(10)
		r = w.start(nil, func(c *Config) {
			u := &unlisting{StreamsClient: c.Client, hidden: hidden}
			u.throttle.Store(3)
			c.Client, c.Discovery = u, 5*time.Second
		})
		w.awaitAll(5*time.Minute, 1)
		require.Empty(t, w.gaps)
		require.Zero(t, w.stale, "the child waited for it")
		r.drain()
	})
}

// Records that are older than the origin are not handed out, but read: progress
// moves over them, or a shard that holds nothing else would be read from its
// start at every restart, until what follows is trimmed.
func TestAPageWithoutAnythingOwedIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 32}, 1)
		w.put(20)
		time.Sleep(5 * time.Second)
		w.begin(checkpoint.StartLatest)
		r := w.start(nil, func(c *Config) { c.Fresh = nil })
		time.Sleep(10 * time.Second)
		r.drain()
		require.Zero(t, w.delivered())
		require.Len(t, w.rows(), 1)
		for name, row := range w.rows() {
			require.NotEmpty(t, row.Position, name)
		}
	})
}

// A look-up of the checkpoints that fails is repeated. Taken for "there are none"
// it would hide, for the life of the process, that the stream is another one.
func TestALookUpThatFailsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 33}, 1)
		store := &flaky{Store: w.store}
		w.store = store
		w.begin(checkpoint.StartTrimHorizon)
		w.put(5)
		r := w.start(nil)
		w.awaitAll(time.Minute, 1)
		time.Sleep(10 * time.Second)
		r.crash()
		require.NoError(t, w.service.DisableStream(table))
		_, err := w.service.EnableStream(table)
		require.NoError(t, err)
		w.origin.Source = "" // only the rows tell that there was another stream

		store.down.Store(true)
		r = w.start(nil)
		time.Sleep(5 * time.Second)
		store.down.Store(false)
		w.await(5*time.Minute, "the gap is found", func() bool {
			select {
			case <-r.done:
				return true
			default:
				return false
			}
		})
		require.ErrorIs(t, r.err, shards.ErrGap)
		require.Len(t, w.gaps, 1)
		r.crash()
	})
}

// What was only just listed may be unknown where the next call lands.
func TestAShardUnknownForAMomentIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 34}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(10)
		r := w.start(nil, func(c *Config) {
			u := &unlisting{StreamsClient: c.Client}
			u.unknown.Store(goneAfter - 1)
			c.Client = u
		})
		w.awaitAll(5*time.Minute, 1)
		require.Empty(t, w.gaps)
		r.drain()
	})
}

// A first discovery that takes long does not leave out what was written
// meanwhile: after a minute no shard starts at its end any more.
func TestASlowFirstDiscoveryLeavesNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 35}, 2)
		w.put(10)
		time.Sleep(5 * time.Second)
		w.begin(checkpoint.StartLatest)
		w.service.SetFaults(map[string]streamtest.FaultRates{"DescribeStream": {Internal: 1}})
		r := w.start(nil)
		time.Sleep(2 * time.Minute)
		w.put(10)
		w.service.SetFaults(nil)
		w.awaitAll(5*time.Minute, 2)
		r.drain()
		require.NotContains(t, w.asked(), "LATEST")
	})
}
