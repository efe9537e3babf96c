package shards

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func number(t require.TestingT, s string) SequenceNumber {
	n, err := ParseSequenceNumber(s)
	require.NoError(t, err)
	return n
}

func TestSequenceNumberTable(t *testing.T) {
	widest := strings.Repeat("9", MaxDigits)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"9", "10", -1}, // as strings the other way round
		{"0", "000", 0},
		{"000000000000000000001", "1", 0},
		{"0100", "99", 1},
		{"9007199254740993", "9007199254740992", 1}, // one float
		{"18446744073709551616", "18446744073709551615", 1},
		{widest, strings.Repeat("9", MaxDigits-1) + "8", 1},
		{widest, widest, 0},
	} {
		a, b := number(t, c.a), number(t, c.b)
		require.Equal(t, c.want, a.Compare(b), "%s and %s", c.a, c.b)
		require.Equal(t, -c.want, b.Compare(a), "%s and %s", c.b, c.a)
		require.Equal(t, c.want < 0, a.Less(b))
		require.Equal(t, c.a, a.String(), "the digits are kept")
	}
	none := SequenceNumber{}
	require.True(t, none.IsZero())
	require.True(t, none.Less(number(t, "0")), "none is before everything")
	require.Zero(t, none.Compare(SequenceNumber{}))
}

func TestSequenceNumberRefuses(t *testing.T) {
	for _, s := range []string{"", " 1", "1 ", "+1", "-1", "1.0", "1e3", "0x1", "١", strings.Repeat("1", MaxDigits+1)} {
		n, err := ParseSequenceNumber(s)
		require.ErrorIs(t, err, ErrSequence, "%q", s)
		require.True(t, n.IsZero())
	}
}

func TestSequenceNumberCompareDoesNotAllocate(t *testing.T) {
	a, b := number(t, "000"+strings.Repeat("1", 50)), number(t, strings.Repeat("1", 50))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if a.Compare(b) != 0 {
			panic("not equal")
		}
	}))
}

func FuzzSequenceNumber(f *testing.F) {
	f.Add("9", "10")
	f.Add("000", "0")
	f.Add("123456789012345678901", "0123456789012345678902")
	f.Add(strings.Repeat("9", 56), strings.Repeat("9", 57))
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := ParseSequenceNumber(a)
		y, errY := ParseSequenceNumber(b)
		p, okP := decimal(a)
		q, okQ := decimal(b)
		if (errX == nil) != okP || (errY == nil) != okQ {
			t.Fatalf("%q: %v, %q: %v", a, errX, b, errY)
		}
		if errX != nil && !errors.Is(errX, ErrSequence) {
			t.Fatal(errX)
		}
		if okP && okQ && x.Compare(y) != p.Cmp(q) {
			t.Fatalf("%q and %q: %d, not %d", a, b, x.Compare(y), p.Cmp(q))
		}
	})
}

// decimal is the reference: slow, and somebody else's.
func decimal(s string) (*big.Int, bool) {
	if len(s) < 1 || len(s) > 56 || strings.Trim(s, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func TestSequenceNumberOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`0{0,3}[0-9]{1,53}`)
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		x, y, z := number(t, a), number(t, b), number(t, c)
		p, _ := decimal(a)
		q, _ := decimal(b)
		require.Equal(t, p.Cmp(q), x.Compare(y))
		if x.Compare(y) <= 0 && y.Compare(z) <= 0 {
			require.LessOrEqual(t, x.Compare(z), 0)
		}
	})
}
