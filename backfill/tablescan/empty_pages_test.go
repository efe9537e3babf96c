package tablescan

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/keymap"
)

// A long run of empty pages, as deleted rows and filters leave it, is behind the
// durable position once it was read: a crash does not read it again.
func TestARunOfEmptyPagesIsDurableProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		table, store := fill(t, "S", 40), checkpoint.NewMemory()
		var last keymap.Key
		c := &spy{Client: table.Dynamo()}
		c.scan = func(n int, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
			if n > 5 {
				return nil, &types.ProvisionedThroughputExceededException{}
			}
			out, err := table.Dynamo().Scan(context.Background(), in)
			if err == nil {
				out.Items, last = nil, out.LastEvaluatedKey
			}
			return out, err
		}
		s := start(t, store, Config{Client: c, Segments: 1, Parallel: 1, Limit: 3}, &backfill.Plan{})
		time.Sleep(time.Second)
		s.crash()
		all := rows(t, store)
		require.Len(t, all, 1)
		require.NotEmpty(t, all[0].Position)
		require.Equal(t, last, position(t, all[0]))
		require.False(t, all[0].Complete)
	})
}
