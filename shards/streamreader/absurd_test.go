package streamreader

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Rows come from outside: a position that no version wrote ends the reader in a
// few words, and nothing is read from somewhere else instead.
func TestAbsurdPositionsAreRefused(t *testing.T) {
	for name, position := range map[string]string{
		"one digit too many": strings.Repeat("9", 57),
		"as long as an item": strings.Repeat("1", 400_000),
		"not all digits":     "12x",
		"a sign":             "-1",
		"blanks":             " 12",
		"other digits":       "١٢",
		"a key":              `{"id":{"S":"a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{Seed: 1}, 1)
				w.begin(checkpoint.StartTrimHorizon)
				w.put(10)
				_, label, _ := strings.Cut(w.service.StreamARN(table), "/stream/")
				cp, err := w.store.Claim(t.Context(), checkpoint.Key{
					Pipeline: pipeline, Partition: "stream/" + label + "/" + w.service.Shards(table)[0].ID,
				}, "test")
				require.NoError(t, err)
				cp.Position, cp.Revision = position, 1
				require.NoError(t, w.store.Save(t.Context(), cp))

				r := w.start(nil)
				select {
				case <-r.done:
				case <-time.After(time.Minute):
					t.Fatal("the reader goes on")
				}
				require.ErrorIs(t, r.err, checkpoint.ErrBadRow)
				require.ErrorContains(t, r.err, cp.Partition)
				require.Less(t, len(r.err.Error()), 1000)
				require.Zero(t, w.delivered())
				require.Empty(t, w.asked(), "no iterator was asked for")
				r.crash()
			})
		})
	}
}
