package backfill

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is held back reaches the source once each, in the order of the acks, however
// often the source fails in between; what comes behind a release is not held.
func TestHeldAgainstANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h held
		var kept, got, want []int
		closed, failing, n := false, -1, 0 // failing: the source refuses this one
		t.Repeat(map[string]func(*rapid.T){
			"shut": func(*rapid.T) {
				h.shut()
				closed = true
			},
			"keep": func(t *rapid.T) {
				n++
				i := n
				require.Equal(t, closed, h.keep(func(context.Context, error) error {
					if i == failing {
						return errRefused
					}
					got = append(got, i)
					return nil
				}))
				if closed {
					kept = append(kept, i)
				}
			},
			"release": func(t *rapid.T) {
				failing = rapid.IntRange(0, n+1).Draw(t, "failing")
				closed = false
				fails := false
				for len(kept) > 0 && !fails {
					if fails = kept[0] == failing; !fails {
						want, kept = append(want, kept[0]), kept[1:]
					}
				}
				if err := h.release(bg); fails {
					require.Equal(t, errRefused, err)
				} else {
					require.NoError(t, err)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, want, got)
				require.Equal(t, len(kept), h.size())
			},
		})
	})
}
