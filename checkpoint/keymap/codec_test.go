package keymap_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint/keymap"
)

var codec keymap.Codec

func values() *rapid.Generator[types.AttributeValue] {
	return rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }),
		rapid.Map(rapid.StringMatching(`-?[0-9]{1,38}(\.[0-9]{1,5})?(E[+-]?[0-9]{1,3})?`), func(s string) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: s}
		}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }),
	)
}

func TestCodec_RoundTripsEveryKeyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.MapOfN(rapid.StringN(1, 20, -1), values(), 1, 3).Draw(t, "key")
		s, err := codec.Encode(key)
		if err != nil {
			t.Fatal(err)
		}
		// Deterministic: a map built in another order is written the same.
		other := make(keymap.Key)
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(key))) {
			other[name] = key[name]
		}
		if again, err := codec.Encode(other); err != nil || again != s {
			t.Fatalf("%q and then %q, %v", s, again, err)
		}
		got, err := codec.Decode(s)
		if err != nil {
			t.Fatal(err)
		}
		if !same(got, key) {
			t.Fatalf("%q is read as %v", s, got)
		}
	})
}

func same(a, b keymap.Key) bool {
	return maps.EqualFunc(a, b, func(x, y types.AttributeValue) bool {
		switch x := x.(type) {
		case *types.AttributeValueMemberS:
			y, ok := y.(*types.AttributeValueMemberS)
			return ok && x.Value == y.Value
		case *types.AttributeValueMemberN:
			y, ok := y.(*types.AttributeValueMemberN)
			return ok && x.Value == y.Value
		case *types.AttributeValueMemberB:
			y, ok := y.(*types.AttributeValueMemberB)
			return ok && string(x.Value) == string(y.Value)
		}
		return false
	})
}

func TestCodec_IsForPeopleToRead(t *testing.T) {
	s, err := codec.Encode(keymap.Key{
		"sort": &types.AttributeValueMemberN{Value: strings.Repeat("9", 38)},
		"id":   &types.AttributeValueMemberS{Value: "a<b&c"},
		"raw":  &types.AttributeValueMemberB{Value: []byte{0, 255}},
	})
	require.NoError(t, err)
	require.Equal(t, `{"id":{"S":"a<b&c"},"raw":{"B":"AP8="},"sort":{"N":"`+strings.Repeat("9", 38)+`"}}`, s)
}

func TestCodec_RefusesWhatIsNoKey(t *testing.T) {
	for _, key := range []keymap.Key{
		nil,
		{},
		{"": &types.AttributeValueMemberS{Value: "x"}},
		{"a\xff": &types.AttributeValueMemberS{Value: "x"}},
		{"a": nil},
		{"a": (*types.AttributeValueMemberS)(nil)},
		{"a": (*types.AttributeValueMemberN)(nil)},
		{"a": (*types.AttributeValueMemberB)(nil)},
		{"a": &types.AttributeValueMemberS{Value: "\xff"}}, // JSON would alter it
		{"a": &types.AttributeValueMemberN{Value: "NaN"}},
		{"a": &types.AttributeValueMemberN{Value: ""}},
		{"a": &types.AttributeValueMemberN{Value: "1e"}},
		{"a": &types.AttributeValueMemberBOOL{Value: true}},
		{"a": &types.AttributeValueMemberM{}},
		{"a": &types.AttributeValueMemberSS{Value: []string{"x"}}},
	} {
		_, err := codec.Encode(key)
		require.Error(t, err, "%v", key)
	}
	for _, s := range []string{
		"", "null", "{}", "17", `"id"`, `{"id":"x"}`, `{"id":{}}`, `{"id":null}`, `{"id":{"S":"x","N":"1"}}`, `{"id":{"BOOL":"true"}}`,
		`{"id":{"N":1}}`, `{"id":{"N":"x"}}`, `{"id":{"B":"*"}}`, `{"id":{"B":"AP9="}}`, `{"id":{"S":"x"}} `, `{"id":{"S":"x"}}{}`,
		`{"id":{"S":"x"},"id":{"S":"y"}}`, `{"b":{"S":"x"},"a":{"S":"y"}}`, ` {"id":{"S":"x"}}`, `{"id":{"S":"x"}`,
	} {
		_, err := codec.Decode(s)
		require.Error(t, err, s)
	}
}

// Whatever is in the row: it is an error, or it is exactly what Encode writes.
func FuzzCodec_DecodesOnlyItsOwn(f *testing.F) {
	f.Add(`{"id":{"S":"order-17"},"line":{"N":"3"}}`)
	f.Add(`{"raw":{"B":"AP8="}}`)
	f.Add(`{"id":{"S":"\u2028\ud800"}}`)
	f.Fuzz(func(t *testing.T, s string) {
		key, err := codec.Decode(s)
		if err != nil {
			return
		}
		if back, err := codec.Encode(key); err != nil || back != s {
			t.Fatalf("%q is read as %v, which is written %q, %v", s, key, back, err)
		}
	})
}

func ExampleCodec() {
	s, err := keymap.Codec{}.Encode(keymap.Key{
		"line": &types.AttributeValueMemberN{Value: "3"},
		"id":   &types.AttributeValueMemberS{Value: "order-17"},
	})
	fmt.Println(s, err)
	// Output: {"id":{"S":"order-17"},"line":{"N":"3"}} <nil>
}
