package attributes_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids/awsevents/attributes"
)

func genValue(depth int) *rapid.Generator[types.AttributeValue] {
	bin := rapid.SliceOfN(rapid.Byte(), 0, 8)
	num := rapid.StringMatching(`-?[0-9]{1,38}(\.[0-9]{1,10})?(E-?[0-9]{1,2})?`)
	gens := []*rapid.Generator[types.AttributeValue]{
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberB{Value: bin.Draw(t, "B")}
		}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, "BOOL")}
		}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberBS{Value: rapid.SliceOfN(bin, 0, 3).Draw(t, "BS")}
		}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: num.Draw(t, "N")}
		}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberNS{Value: rapid.SliceOfN(num, 0, 3).Draw(t, "NS")}
		}),
		rapid.Just[types.AttributeValue](&types.AttributeValueMemberNULL{Value: true}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberS{Value: rapid.String().Draw(t, "S")}
		}),
		rapid.Custom(func(t *rapid.T) types.AttributeValue {
			return &types.AttributeValueMemberSS{Value: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "SS")}
		}),
	}
	if depth > 0 {
		gens = append(gens,
			rapid.Custom(func(t *rapid.T) types.AttributeValue {
				return &types.AttributeValueMemberL{Value: rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "L")}
			}),
			rapid.Custom(func(t *rapid.T) types.AttributeValue {
				return &types.AttributeValueMemberM{Value: rapid.MapOfN(rapid.String(), genValue(depth-1), 0, 3).Draw(t, "M")}
			}))
	}
	return rapid.OneOf(gens...)
}

// Through the event's own JSON, since that is how a function gets it.
func roundTrip(t *rapid.T) {
	want := genValue(3).Draw(t, "value")
	ev, err := attributes.ToEvent(want)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var decoded events.DynamoDBAttributeValue
	if err := json.Unmarshal(wire, &decoded); err != nil {
		t.Fatalf("%s: %v", wire, err)
	}
	got, err := attributes.FromEvent(decoded)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %#v, want %#v", wire, got, want)
	}
}

func TestL13_AllTypesConvertWithoutLoss(t *testing.T) { rapid.Check(t, roundTrip) }

func FuzzL13_AllTypesConvertWithoutLoss(f *testing.F) { f.Fuzz(rapid.MakeFuzz(roundTrip)) }

func TestL13_AnImageOfEveryType(t *testing.T) {
	var image map[string]events.DynamoDBAttributeValue
	require.NoError(t, json.Unmarshal([]byte(`{
		"b": {"B": "AAEqQQ=="}, "bool": {"BOOL": false}, "bs": {"BS": ["AAEqQQ=="]},
		"l": {"L": [{"S": ""}, {"L": []}, {"NULL": true}]}, "m": {"M": {"n": {"N": "1"}, "m": {"M": {}}}},
		"n": {"N": "99999999999999999999999999999999999999"}, "ns": {"NS": ["1", "1.0"]}, "null": {"NULL": true},
		"s": {"S": "x"}, "ss": {"SS": ["b", "a"]}
	}`), &image))
	got, err := attributes.Image(image)
	require.NoError(t, err)
	require.Equal(t, map[string]types.AttributeValue{
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 1, 42, 65}},
		"bool": &types.AttributeValueMemberBOOL{Value: false},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{0, 1, 42, 65}}},
		"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberS{Value: ""}, &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, &types.AttributeValueMemberNULL{Value: true},
		}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"n": &types.AttributeValueMemberN{Value: "1"}, "m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		}},
		"n":    &types.AttributeValueMemberN{Value: "99999999999999999999999999999999999999"},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"s":    &types.AttributeValueMemberS{Value: "x"},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"b", "a"}},
	}, got)
}

func TestWhatIsNoValue(t *testing.T) {
	_, err := attributes.FromEvent(events.DynamoDBAttributeValue{})
	require.ErrorIs(t, err, attributes.ErrNoValue)
	_, err = attributes.Image(map[string]events.DynamoDBAttributeValue{"a": events.NewListAttribute([]events.DynamoDBAttributeValue{{}})})
	require.ErrorContains(t, err, `attribute "a": element 0`)
	none, err := attributes.Image(nil)
	require.NoError(t, err)
	require.Nil(t, none)
	for _, v := range []types.AttributeValue{
		nil,
		&types.AttributeValueMemberNULL{},
		&types.AttributeValueMemberL{Value: []types.AttributeValue{nil}},
		&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": nil}},
	} {
		_, err := attributes.ToEvent(v)
		require.ErrorIs(t, err, attributes.ErrNoValue)
	}
}
