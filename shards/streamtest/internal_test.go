package streamtest

import (
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSequencesAreNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (sequence, *big.Int) {
			text := rapid.StringMatching(`0{0,3}[0-9]{1,38}`).Draw(t, label)
			n, _ := new(big.Int).SetString(text, 10)
			q, err := parseSequence(text)
			if (err != nil) != (n.Sign() == 0) {
				t.Fatalf("%q: %v", text, err)
			}
			if n.Sign() != 0 && q.String() != n.String() {
				t.Fatalf("%q came back as %q", text, q)
			}
			return q, n
		}
		a, x := draw("a")
		b, y := draw("b")
		if a.less(b) != (x.Cmp(y) < 0) {
			t.Fatalf("%v < %v: %v", a, b, a.less(b))
		}
		if x.Sign() > 0 {
			if before := a.minusOne(); before != (sequence{}) && before.String() != new(big.Int).Sub(x, big.NewInt(1)).String() {
				t.Fatalf("before %v: %v", a, before)
			}
		}
	})
	for _, bad := range []string{"", "0", "-1", "+1", "1.5", "1e3", "12a", " 1", "99999999999999999999999999999999999999999"} {
		_, err := parseSequence(bad)
		require.Error(t, err, bad)
	}
}

func TestSequencersGrowAndStayWithinFortyDigits(t *testing.T) {
	for ordinal := range 6 {
		g := newSequencer(uint64(ordinal)*977, ordinal)
		last := g.last
		for range 40_000 {
			q := g.take()
			if !last.less(q) {
				t.Fatalf("%v after %v", q, last)
			}
			last = q
		}
		require.GreaterOrEqual(t, len(last.String()), 25)
		require.LessOrEqual(t, len(last.String()), 40)
	}
}

func TestIteratorsCarryTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := iterator{
			arn: "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/2026-01-01T00:00:00.000", shard: rapid.StringMatching(`[a-zA-Z0-9 -]{0,20}`).Draw(t, "shard"),
			after: sequence{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}, issued: time.Unix(0, rapid.Int64().Draw(t, "ns")), epoch: rapid.Uint64().Draw(t, "epoch"),
		}
		got, err := parseIterator(it.String())
		if err != nil || got != it {
			t.Fatalf("%+v came back as %+v, %v", it, got, err)
		}
	})
}

func FuzzParseIterator(f *testing.F) {
	f.Add("arn|1|MSAyIDMgNCBz")
	f.Add("||")
	f.Fuzz(func(t *testing.T, text string) {
		if it, err := parseIterator(text); err == nil {
			again, err := parseIterator(it.String())
			require.NoError(t, err)
			require.Equal(t, it, again)
		}
	})
}

// Segments are disjoint, and together they are the whole partition space.
func TestSegmentsCoverThePartitionSpace(t *testing.T) {
	for _, n := range []int32{1, 2, 3, 7, 64, 1000, 1_000_000} {
		expected := uint64(0)
		for i := range n {
			first, next := segment(i, n)
			if first != expected || i+1 < n && next <= first {
				t.Fatalf("segment %d of %d is from %d to %d, want from %d", i, n, first, next, expected)
			}
			expected = next
		}
		require.Zero(t, expected)
	}
}

// A month of rotations leaves what a day of them does.
func TestMemoryIsFlatOverAMonth(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := New(Config{Now: func() time.Time { return now }, RotateEvery: RotationInterval, RotateSpread: time.Hour})
	const open = 100
	require.NoError(t, s.CreateTable(Table{Name: "orders", Hash: "id", View: "NEW_IMAGE", Shards: open}))
	st := s.tables["orders"].stream
	for hour := range 30 * 24 {
		for i := range 10 {
			_, err := s.Put("orders", Item{"id": &types.AttributeValueMemberS{Value: strconv.Itoa(i)}, "hour": &types.AttributeValueMemberN{Value: strconv.Itoa(hour)}})
			require.NoError(t, err)
		}
		now = now.Add(time.Hour)
		s.Time()
		retained, records := len(st.shards)-st.dropped, 0
		for _, sh := range st.shards {
			records += len(sh.records)
		}
		// A shard lives three to four hours and is kept for twenty-four more.
		if retained > open*9 || len(st.shards) > 2*retained || len(s.timeline) > retained+open || records > 10*29 {
			t.Fatalf("hour %d: %d shards retained of %d held, %d events, %d records", hour, retained, len(st.shards), len(s.timeline), records)
		}
	}
	require.Len(t, st.parts, open)
}
