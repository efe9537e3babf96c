package streamreader

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// emptied loses the body, and what would give that away, of every n-th answer to
// an operation, as a server or something before it does that has trouble.
type emptied struct {
	http.RoundTripper
	operation string
	n         int64
	calls     atomic.Int64
}

func (e *emptied) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := e.RoundTripper.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+e.operation) || e.calls.Add(1)%e.n != 0 {
		return answer, err
	}
	answer.Header.Del("X-Amz-Crc32")
	answer.Body, answer.ContentLength = http.NoBody, 0
	return answer, nil
}

// An answer of success without a body is read by the SDK as one in which every
// field is missing. A missing NextShardIterator is the end of a shard, and what
// ended is never read again.
func TestS2_EmptiedAnswerEndsNoShard(t *testing.T) {
	for _, operation := range []string{"GetRecords", "GetShardIterator", "DescribeStream"} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{Seed: 1}, 2)
				w.begin(checkpoint.StartTrimHorizon)
				way := &emptied{RoundTripper: w.service, operation: operation, n: 2}
				aws := w.service.AWSConfig()
				aws.HTTPClient = &http.Client{Transport: way}
				r := w.start(nil, func(c *Config) { c.Client = dynamodbstreams.NewFromConfig(aws) })
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
				require.Greater(t, way.calls.Load(), way.n, "answers were emptied")
				r.drain()
				require.Empty(t, w.gaps)
			})
		})
	}
}
