package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/keymap"
)

// A scan's position holds key attributes of an item, and an error ends in logs.
func TestC8_ErrorsNameTheRowAndNotWhatIsInIt(t *testing.T) {
	secret := strings.Repeat("patient-4711 ", 40_000)
	decode := map[string]func(string) error{
		"Integer": func(s string) error { _, err := checkpoint.Integer[int]{}.Decode(s); return err },
		"JSON":    func(s string) error { _, err := checkpoint.JSON[struct{ A int }]{}.Decode(s); return err },
		"keymap":  func(s string) error { _, err := keymap.Codec{}.Decode(s); return err },
		"Open": func(s string) error {
			store := checkpoint.NewMemory()
			key := checkpoint.Key{Pipeline: "orders", Partition: "one"}
			row, err := store.Claim(t.Context(), key, checkpoint.NewOwner(""))
			require.NoError(t, err)
			row.Position, row.Revision = s, 1
			require.NoError(t, store.Save(t.Context(), row))
			c := checkpoint.NewCommitter(store, "orders")
			_, _, err = checkpoint.Open(t.Context(), c, "one", keymap.Codec{})
			require.ErrorIs(t, err, checkpoint.ErrBadRow)
			require.ErrorContains(t, err, key.String())
			return err
		},
	}
	for name, f := range decode {
		for _, position := range []string{
			secret,
			`{"id":{"S":"` + secret + `"},"n":{"X":"` + secret + `"}}`,
			`{"id":{"S":"` + secret + `"} }`,
			`{"id":{"N":"` + secret + `"}}`,
			`{"id":{"S":"` + secret + `","N":"1"}}`,
			`{"id":{"S":"` + secret + `"}} 1`,
			`{"A":"` + secret + `"}`,
			`{"A":1} "` + secret + `"`,
		} {
			err := f(position)
			require.Error(t, err, name)
			require.NotContains(t, err.Error(), "patient", name)
			require.Less(t, len(err.Error()), 500, name)
		}
	}
	_, err := checkpoint.Text[string]{}.Encode(secret + "\xff")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "patient")
}
