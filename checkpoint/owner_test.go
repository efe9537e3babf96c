package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// Fences start again at 1 when a row was deleted; the owner tells them apart, so no
// two are the same.
func TestNewOwner_IsUniqueWithALabelAndWithout(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		bare, labelled := checkpoint.NewOwner(""), checkpoint.NewOwner("host-1")
		require.NotContains(t, bare, "/")
		random, ok := strings.CutPrefix(labelled, "host-1/")
		require.True(t, ok, labelled)
		for _, o := range []string{bare, random} {
			require.NotEmpty(t, o)
			require.False(t, seen[o], "%s again", o)
			seen[o] = true
		}
	}
}
