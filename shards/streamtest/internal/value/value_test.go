package value_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

func s(v string) value.Value { return &types.AttributeValueMemberS{Value: v} }
func n(v string) value.Value { return &types.AttributeValueMemberN{Value: v} }

// decimals generates numbers in many spellings.
var decimals = rapid.StringMatching(`-?(0|[1-9][0-9]{0,15}|0{0,3}[0-9]{1,4})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`)

func rat(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("big.Rat cannot read %q", text)
	}
	return r
}

func TestNumbersAgreeWithBigRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := decimals.Draw(t, "x"), decimals.Draw(t, "y")
		a, err := value.ParseNumber(x)
		if err != nil {
			t.Fatalf("%q: %v", x, err)
		}
		b, err := value.ParseNumber(y)
		if err != nil {
			t.Fatalf("%q: %v", y, err)
		}
		if want := rat(t, x).Cmp(rat(t, y)); a.Compare(b) != want || b.Compare(a) != -want {
			t.Fatalf("%s compared to %s: %d, want %d", x, y, a.Compare(b), want)
		}
		if rat(t, a.String()).Cmp(rat(t, x)) != 0 {
			t.Fatalf("%q is written as %q", x, a)
		}
		want := new(big.Rat).Add(rat(t, x), rat(t, y))
		sum, err := a.Add(b)
		if err == nil && rat(t, sum.String()).Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s, want %s", x, y, sum, want.FloatString(20))
		}
		if err != nil && !strings.Contains(err.Error(), "38 significant") {
			t.Fatalf("%s + %s: %v", x, y, err)
		}
	})
}

func TestNumbersRefused(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", "e5", "1e", "1e+", "--1", "1.2.3", "0x10", "NaN", "Infinity", " 1", "1 ", "1_000", "١",
		strings.Repeat("1", 39), "1e126", "1e-131", "1e999999999999",
	} {
		_, err := value.ParseNumber(text)
		require.Error(t, err, text)
	}
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "007": "7", "+7": "7", "1.50": "1.5", ".5": "0.5", "5.": "5", "-0.25": "-0.25",
		"100": "100", "1e3": "1000", "1e-3": "0.001", "9.99e125": "9.99E+125", "1e-130": "1E-130", strings.Repeat("9", 38): strings.Repeat("9", 38),
	} {
		got, err := value.ParseNumber(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
}

// Scan and Query walk encoded keys, so their bytes must order as the keys do.
func TestEncodedKeysOrderAsKeysDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numeric := rapid.Bool().Draw(t, "numeric")
		schema := value.Schema{Hash: value.KeyPart{Name: "h", Type: "S"}, Range: value.KeyPart{Name: "r", Type: "S"}}
		draw := func(label string) value.Value {
			if numeric {
				return n(decimals.Draw(t, label))
			}
			return s(rapid.StringMatching(`[a\x00\x01b]{1,4}`).Draw(t, label))
		}
		if numeric {
			schema.Range.Type = "N"
		}
		a, b := draw("a"), draw("b")
		x, err := schema.Encode(value.Item{"h": s("same"), "r": a})
		if err != nil {
			t.Fatal(err)
		}
		y, err := schema.Encode(value.Item{"h": s("same"), "r": b})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := value.Compare(a, b)
		if !ok || strings.Compare(string(x), string(y)) != want {
			t.Fatalf("%v and %v: encoded order %d, want %d", a, b, strings.Compare(string(x), string(y)), want)
		}
		prefix, err := schema.EncodeHash(s("same"))
		if err != nil || !strings.HasPrefix(string(x), string(prefix)) {
			t.Fatalf("key of %v does not start with its hash: %v", a, err)
		}
	})
}

func TestKeysRefused(t *testing.T) {
	schema := value.Schema{Hash: value.KeyPart{Name: "h", Type: "S"}, Range: value.KeyPart{Name: "r", Type: "N"}}
	for _, key := range []value.Item{
		nil,
		{"h": s("x")},
		{"r": n("1")},
		{"h": s(""), "r": n("1")},
		{"h": n("1"), "r": n("1")},
		{"h": s("x"), "r": s("1")},
		{"h": s("x"), "r": n("one")},
		{"h": s("x"), "r": n("1"), "more": s("y")},
	} {
		_, err := schema.EncodeExact(key)
		require.Error(t, err, "%v", key)
	}
	a, err := schema.EncodeExact(value.Item{"h": s("x"), "r": n("1.0")})
	require.NoError(t, err)
	b, err := schema.Encode(value.Item{"h": s("x"), "r": n("1"), "more": s("y")})
	require.NoError(t, err)
	require.Equal(t, a, b, "1 and 1.0 are one key")
}

func TestCanonicalNumbers(t *testing.T) {
	item := value.Item{
		"n": n("01.50"), "ns": &types.AttributeValueMemberNS{Value: []string{"1.0", "2"}}, "s": s("1.0"),
		"l": &types.AttributeValueMemberL{Value: []value.Value{n("1e2"), &types.AttributeValueMemberM{Value: value.Item{"k": n("-0")}}}},
	}
	value.Canonical(item)
	require.Equal(t, value.Item{
		"n": n("1.5"), "ns": &types.AttributeValueMemberNS{Value: []string{"1", "2"}}, "s": s("1.0"),
		"l": &types.AttributeValueMemberL{Value: []value.Value{n("100"), &types.AttributeValueMemberM{Value: value.Item{"k": n("0")}}}},
	}, item)
}

func TestEqualAndCopy(t *testing.T) {
	every := value.Item{
		"s": s("x"), "n": n("1.0"), "b": &types.AttributeValueMemberB{Value: []byte{1, 2}}, "t": &types.AttributeValueMemberBOOL{Value: true},
		"z": &types.AttributeValueMemberNULL{Value: true}, "ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns": &types.AttributeValueMemberNS{Value: []string{"1", "2"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": &types.AttributeValueMemberL{Value: []value.Value{s("x"), n("2")}}, "m": &types.AttributeValueMemberM{Value: value.Item{"k": s("v")}},
	}
	same := value.CopyItem(every)
	require.True(t, value.EqualItems(every, same))
	require.NoError(t, value.CheckItem(every))
	require.Len(t, value.ForStream(every), len(every))
	for name, v := range value.ForStream(every) {
		require.NotNil(t, v, name)
	}

	same["ns"] = &types.AttributeValueMemberNS{Value: []string{"2.0", "1"}}
	same["n"] = n("1")
	require.True(t, value.EqualItems(every, same), "numbers by value, sets without order")

	same = value.CopyItem(every)
	same["b"].(*types.AttributeValueMemberB).Value[0] = 9
	same["m"].(*types.AttributeValueMemberM).Value["k"] = s("w")
	same["l"].(*types.AttributeValueMemberL).Value[0] = s("w")
	same["bs"].(*types.AttributeValueMemberBS).Value[0][0] = 9
	require.False(t, value.EqualItems(every, same))
	require.Equal(t, byte(1), every["b"].(*types.AttributeValueMemberB).Value[0], "a copy shares nothing")
	require.Equal(t, byte(1), every["bs"].(*types.AttributeValueMemberBS).Value[0][0])
	require.True(t, value.Equal(every["m"], &types.AttributeValueMemberM{Value: value.Item{"k": s("v")}}))

	for _, bad := range []value.Value{
		nil, n("x"), &types.AttributeValueMemberSS{}, &types.AttributeValueMemberSS{Value: []string{"a", "a"}},
		&types.AttributeValueMemberNS{Value: []string{"1", "1.0"}}, &types.AttributeValueMemberNS{Value: []string{"x"}}, &types.AttributeValueMemberNULL{},
		&types.AttributeValueMemberL{Value: []value.Value{nil}}, &types.AttributeValueMemberM{Value: value.Item{"k": n("")}},
	} {
		require.Error(t, value.Check(bad), "%v", bad)
	}
	deep := s("x")
	for range value.MaxDepth {
		deep = &types.AttributeValueMemberL{Value: []value.Value{deep}}
	}
	require.Error(t, value.Check(deep))
}
