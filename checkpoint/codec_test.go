package checkpoint_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

type lsn struct {
	File   string `json:"file"`
	Offset uint64 `json:"offset"`
}

func roundTrips[P comparable](t *rapid.T, c checkpoint.Codec[P], pos P) {
	s, err := c.Encode(pos)
	if err != nil || s == "" {
		t.Fatalf("Encode(%v): %q, %v", pos, s, err)
	}
	again, err := c.Encode(pos)
	if err != nil || again != s {
		t.Fatalf("Encode(%v) is %q and then %q", pos, s, again)
	}
	got, err := c.Decode(s)
	if err != nil || got != pos {
		t.Fatalf("Decode(%q): %v, %v, want %v", s, got, err, pos)
	}
}

func TestCodecs_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrips(t, checkpoint.Integer[int64]{}, rapid.Int64().Draw(t, "int64"))
		roundTrips(t, checkpoint.Integer[uint64]{}, rapid.Uint64().Draw(t, "uint64"))
		roundTrips(t, checkpoint.Integer[int8]{}, rapid.Int8().Draw(t, "int8"))
		text := rapid.StringN(1, 100, -1).Draw(t, "text")
		roundTrips(t, checkpoint.Text[string]{}, text)
		roundTrips(t, checkpoint.JSON[lsn]{}, lsn{File: text, Offset: rapid.Uint64().Draw(t, "offset")})
	})
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		s, err := checkpoint.Integer[int64]{}.Encode(n)
		require.NoError(t, err)
		got, err := checkpoint.Integer[int64]{}.Decode(s)
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
}

// Rows are read by people, and by versions of tomorrow: this is how they are written.
func TestCodecs_AreReadable(t *testing.T) {
	written := func(s string, err error) string {
		require.NoError(t, err)
		return s
	}
	require.Equal(t, "-128", written(checkpoint.Integer[int8]{}.Encode(math.MinInt8)))
	require.Equal(t, "18446744073709551615", written(checkpoint.Integer[uint64]{}.Encode(math.MaxUint64)))
	require.Equal(t, `{"file":"a<&>b","offset":7}`, written(checkpoint.JSON[lsn]{}.Encode(lsn{File: "a<&>b", Offset: 7})))
}

// What is decoded is what would be encoded: nothing is half understood.
func decodesOnlyItself[P any](t *rapid.T, c checkpoint.Codec[P], s string) {
	pos, err := c.Decode(s)
	if err != nil {
		return
	}
	if back, err := c.Encode(pos); err != nil || back != s {
		t.Fatalf("Decode(%q) is %v, which is written %q, %v", s, pos, back, err)
	}
}

func TestCodecs_DecodeNothingButTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[-+]?0?[0-9]{0,21}(\.0)?`), rapid.String()).Draw(t, "s")
		decodesOnlyItself(t, checkpoint.Integer[int64]{}, s)
		decodesOnlyItself(t, checkpoint.Integer[uint64]{}, s)
		decodesOnlyItself(t, checkpoint.Integer[uint8]{}, s)
	})
	for _, s := range []string{
		"", "{}x", `{"file":"a"} {}`, `{"file":"a","later":1}`, "17", `{"file":1}`, `{"file":"a"`, `{"offset":-1}`, `{"offset":1.5}`,
	} {
		_, err := checkpoint.JSON[lsn]{}.Decode(s)
		require.Error(t, err, s)
	}
}

// Sequence numbers have up to 56 digits: more than a number of DynamoDB or a
// float keeps. As text they stay what they are, as integers they are refused.
func TestCodecs_LongNumbersAreNotAltered(t *testing.T) {
	long := strings.Repeat("9", 56)
	s, err := checkpoint.Text[string]{}.Encode(long)
	require.NoError(t, err)
	require.Equal(t, long, s)
	_, err = checkpoint.Integer[int64]{}.Decode(long)
	require.Error(t, err)
	_, err = checkpoint.Integer[uint64]{}.Decode("18446744073709551616")
	require.Error(t, err)
}

func TestText_RefusesWhatAStoreWouldNotKeep(t *testing.T) {
	for _, s := range []string{"", "\xff"} {
		_, err := checkpoint.Text[string]{}.Encode(s)
		require.Error(t, err)
	}
}
