package value

import (
	"bytes"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// ForStream copies an item into the types of the streams client.
func ForStream(item Item) map[string]streams.AttributeValue {
	if item == nil {
		return nil
	}
	out := make(map[string]streams.AttributeValue, len(item))
	for name, v := range item {
		out[name] = forStream(v)
	}
	return out
}

func forStream(v Value) streams.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &streams.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &streams.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &streams.AttributeValueMemberB{Value: bytes.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &streams.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberNULL:
		return &streams.AttributeValueMemberNULL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &streams.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &streams.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		out := make([][]byte, len(v.Value))
		for i := range v.Value {
			out[i] = bytes.Clone(v.Value[i])
		}
		return &streams.AttributeValueMemberBS{Value: out}
	case *types.AttributeValueMemberL:
		out := make([]streams.AttributeValue, len(v.Value))
		for i := range v.Value {
			out[i] = forStream(v.Value[i])
		}
		return &streams.AttributeValueMemberL{Value: out}
	case *types.AttributeValueMemberM:
		return &streams.AttributeValueMemberM{Value: ForStream(v.Value)}
	}
	return nil
}
