package streamreader

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// An answer of success without a body is read by the SDK as one in which every
// field is missing. A missing NextShardIterator is the end of a shard, and what
// ended is never read again.
func TestS2_EmptiedAnswerEndsNoShard(t *testing.T) {
	for _, operation := range []string{"GetRecords", "GetShardIterator", "DescribeStream"} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{Seed: 1}, 2)
				w.begin(checkpoint.StartTrimHorizon)
				w.service.SetFaults(map[string]streamtest.FaultRates{operation: {Emptied: .4, Torn: .1}})
				r := w.start(nil, func(c *Config) { c.Client = dynamodbstreams.NewFromConfig(w.service.AWSConfig()) })
				for range 3 {
					w.put(10)
					w.awaitAll(5*time.Minute, 1)
				}
				for _, row := range w.rows() {
					require.False(t, row.Complete, row.Partition)
				}
				w.rotate()
				w.put(10)
				w.awaitAll(5*time.Minute, 1)
				require.NotZero(t, w.service.Calls()[operation].Faults)
				r.drain()
				require.Empty(t, w.gaps)
			})
		})
	}
}
