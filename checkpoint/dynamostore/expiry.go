package dynamostore

import (
	"strings"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// minShardKeep outlasts the 24 hours that a finished shard stays in its stream,
// and another day for clocks and late listings.
const minShardKeep = 48 * time.Hour

// FinishedShards is a policy for ExpireAfter: the row of a stream's shard goes
// when it has been complete for keep, and no other row ever expires. A finished
// shard is listed for 24 hours, so less than 48 hours is raised to 48: a row
// that goes earlier makes its shard look new.
func FinishedShards(keep time.Duration) func(checkpoint.Checkpoint) time.Duration {
	keep = max(keep, minShardKeep)
	return func(cp checkpoint.Checkpoint) time.Duration {
		if cp.Complete && strings.HasPrefix(cp.Partition, "stream/") {
			return keep
		}
		return 0
	}
}
