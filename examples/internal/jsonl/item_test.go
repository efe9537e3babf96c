package jsonl_test

import (
	"encoding/json"
	"testing"

	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// Every attribute type, in DynamoDB's own JSON. The number has more digits than
// a float64 keeps.
const everyType = `{"b":{"B":"AP8="},"bool":{"BOOL":true},"bs":{"BS":["AQ=="]},"l":{"L":[{"S":"<a&b>"},{"NULL":true}]},` +
	`"m":{"M":{"n":{"N":"12345678901234567890123456789012345678"}}},"ns":{"NS":["1","2"]},"ss":{"SS":["x"]}}`

func TestItemsOfBothClientsRenderAlike(t *testing.T) {
	const digits = "12345678901234567890123456789012345678"
	table, err := jsonl.TableItem(map[string]tabletypes.AttributeValue{
		"b":    &tabletypes.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &tabletypes.AttributeValueMemberBOOL{Value: true},
		"bs":   &tabletypes.AttributeValueMemberBS{Value: [][]byte{{1}}},
		"l": &tabletypes.AttributeValueMemberL{Value: []tabletypes.AttributeValue{
			&tabletypes.AttributeValueMemberS{Value: "<a&b>"}, &tabletypes.AttributeValueMemberNULL{Value: true},
		}},
		"m": &tabletypes.AttributeValueMemberM{Value: map[string]tabletypes.AttributeValue{
			"n": &tabletypes.AttributeValueMemberN{Value: digits},
		}},
		"ns": &tabletypes.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"ss": &tabletypes.AttributeValueMemberSS{Value: []string{"x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := jsonl.StreamItem(map[string]streamtypes.AttributeValue{
		"b":    &streamtypes.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &streamtypes.AttributeValueMemberBOOL{Value: true},
		"bs":   &streamtypes.AttributeValueMemberBS{Value: [][]byte{{1}}},
		"l": &streamtypes.AttributeValueMemberL{Value: []streamtypes.AttributeValue{
			&streamtypes.AttributeValueMemberS{Value: "<a&b>"}, &streamtypes.AttributeValueMemberNULL{Value: true},
		}},
		"m": &streamtypes.AttributeValueMemberM{Value: map[string]streamtypes.AttributeValue{
			"n": &streamtypes.AttributeValueMemberN{Value: digits},
		}},
		"ns": &streamtypes.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"ss": &streamtypes.AttributeValueMemberSS{Value: []string{"x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for client, item := range map[string]jsonl.Item{"table": table, "stream": stream} {
		var got, want any
		text, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(everyType), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s client: %s\nwant %s", client, a, b)
		}
	}
}

func TestUnknownAttributeTypeIsAnError(t *testing.T) {
	_, err := jsonl.TableItem(map[string]tabletypes.AttributeValue{"x": &tabletypes.UnknownUnionMember{Tag: "Z"}})
	if err == nil {
		t.Error("a value of an unknown type was written as nothing")
	}
	if item, err := jsonl.StreamItem(nil); item != nil || err != nil {
		t.Errorf("StreamItem(nil) = %v, %v: an absent image must stay absent", item, err)
	}
}
