package streamreader

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards"
)

func rec(number string, created time.Time) types.Record {
	return types.Record{Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String(number), ApproximateCreationDateTime: &created, SizeBytes: aws.Int64(10),
	}}
}

func TestAPageIsSifted(t *testing.T) {
	origin := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	old, due := origin.Add(-time.Second), origin
	s := &shard{id: "s", start: shards.Start{SkipBefore: origin}}
	s.last, _ = shards.ParseSequenceNumber("9")

	p, err := s.sift([]types.Record{rec("8", old), rec("9", old), rec("10", old), rec("11", due), rec("012", due)})
	require.NoError(t, err)
	require.Equal(t, 3, p.read, "8 and 9 were read before")
	require.Len(t, p.records, 2, "10 is older than the origin")
	require.Equal(t, "012", p.last.String())
	require.Equal(t, weight{2, 20}, p.weight)

	p, err = s.sift([]types.Record{rec("10", old), rec("11", old)})
	require.NoError(t, err)
	require.Empty(t, p.records)
	require.Equal(t, 2, p.read, "progress moves over them")
	require.Equal(t, "11", p.last.String())

	for name, page := range map[string][]types.Record{
		"out of order":            {rec("11", due), rec("10", due)},
		"twice":                   {rec("11", due), rec("11", due)},
		"not a sequence number":   {rec("x", due)},
		"without stream record":   {{}},
		"without a number at all": {{Dynamodb: &types.StreamRecord{}}},
	} {
		_, err := s.sift(page)
		require.ErrorIs(t, err, ErrTerminal, name)
		require.ErrorContains(t, err, "shard s", name)
	}
}
