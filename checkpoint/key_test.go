package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// Names from outside are checked in one place, to the byte.
func TestKey_Validate(t *testing.T) {
	longest := checkpoint.Key{Pipeline: strings.Repeat("p", checkpoint.MaxPipeline), Partition: strings.Repeat("q", checkpoint.MaxPartition)}
	require.NoError(t, longest.Validate())
	require.NoError(t, checkpoint.Key{Pipeline: checkpoint.OriginPartition, Partition: "origin/1"}.Validate())
	for _, tc := range []struct {
		key  checkpoint.Key
		want error
		says string
	}{
		{checkpoint.Key{Partition: "a"}, checkpoint.ErrKey, "the pipeline is empty"},
		{checkpoint.Key{Pipeline: "p"}, checkpoint.ErrKey, "the partition is empty"},
		{checkpoint.Key{Pipeline: longest.Pipeline + "p", Partition: "a"}, checkpoint.ErrKey, "the pipeline has 2049 bytes, 2048 are allowed"},
		{checkpoint.Key{Pipeline: "p", Partition: longest.Partition + "q"}, checkpoint.ErrKey, "the partition has 1025 bytes, 1024 are allowed"},
		{checkpoint.Key{Pipeline: "\xff", Partition: "a"}, checkpoint.ErrKey, `the pipeline "\xff" is not UTF-8`},
		{checkpoint.Key{Pipeline: "p", Partition: "\xff"}, checkpoint.ErrKey, `the partition "\xff" is not UTF-8`},
		{checkpoint.Key{Pipeline: "p", Partition: checkpoint.OriginPartition}, checkpoint.ErrReserved, "p/origin"},
	} {
		err := tc.key.Validate()
		require.ErrorIs(t, err, tc.want)
		require.ErrorContains(t, err, tc.says)
		_, _, err = checkpoint.Open(t.Context(), checkpoint.NewCommitter(checkpoint.NewMemory(), tc.key.Pipeline), tc.key.Partition, checkpoint.Integer[int]{})
		require.ErrorIs(t, err, tc.want, "Open asks before it claims")
	}
}
