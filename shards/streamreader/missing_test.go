package streamreader

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// hiding leaves a shard out of the listings of its first while.
type hiding struct {
	StreamsClient
	id    string
	until time.Time
}

func (c *hiding) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := c.StreamsClient.DescribeStream(ctx, in, o...)
	if err == nil && time.Now().Before(c.until) {
		d := out.StreamDescription
		d.Shards = slices.DeleteFunc(d.Shards, func(s types.Shard) bool { return aws.ToString(s.ShardId) == c.id })
	}
	return out, err
}

// A shard that listings leave out, and that is known from its child alone, exists
// when it is asked for. Nobody has said who its own parents are: read at once it
// would overtake them. Found by the simulation of a whole deployment.
func TestS3_ShardLeftOutOfListingsWaitsForItsParent(t *testing.T) {
	for _, hidden := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, streamtest.Config{Seed: 1}, 1)
			w.begin(checkpoint.StartTrimHorizon)
			w.put(20)
			w.put(20)
			w.put(20)
			w.rotate()
			w.put(20)
			middle := w.service.Shards(table)[1].ID
			w.rotate()
			w.put(20)
			began := time.Now()
			r := w.start(nil, func(c *Config) {
				c.Client = &hiding{StreamsClient: c.Client, id: middle, until: began.Add(hidden)}
				c.PageLimit = 1 // the parent takes longer than its child's listing
			})
			w.awaitAll(5*time.Minute, 1)
			require.Zero(t, w.stale, "hidden for %v: versions delivered out of order", hidden)
			r.drain()
		})
	}
}
