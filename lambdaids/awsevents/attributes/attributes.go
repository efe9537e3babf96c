package attributes

import (
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrNoValue is returned for a value that was never set, and for one of a type
// that the other side does not know.
var ErrNoValue = errors.New("attributes: not a DynamoDB attribute value")

// Image converts a whole image or key of a record; nil stays nil.
func Image(image map[string]events.DynamoDBAttributeValue) (map[string]types.AttributeValue, error) {
	if image == nil {
		return nil, nil
	}
	out := make(map[string]types.AttributeValue, len(image))
	for name, v := range image {
		av, err := FromEvent(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		out[name] = av
	}
	return out, nil
}

// FromEvent converts one value of an event.
func FromEvent(v events.DynamoDBAttributeValue) (types.AttributeValue, error) {
	// The accessors of a value that was never set panic: it claims to be a binary
	// and holds nothing.
	if v.IsNull() && v.DataType() != events.DataTypeNull {
		return nil, fmt.Errorf("%w: it was never set", ErrNoValue)
	}
	switch v.DataType() {
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}, nil
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}, nil
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}, nil
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for i, e := range v.List() {
			av, err := FromEvent(e)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = av
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	case events.DataTypeMap:
		m, err := Image(v.Map())
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = map[string]types.AttributeValue{}
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}, nil
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}, nil
	case events.DataTypeNull:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}, nil
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}, nil
	}
	return nil, fmt.Errorf("%w: its type is %d", ErrNoValue, v.DataType())
}

// ToEvent converts one value of the SDK: for tests that build events.
func ToEvent(v types.AttributeValue) (events.DynamoDBAttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return events.NewBooleanAttribute(v.Value), nil
	case *types.AttributeValueMemberBS:
		return events.NewBinarySetAttribute(v.Value), nil
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			av, err := ToEvent(e)
			if err != nil {
				return events.DynamoDBAttributeValue{}, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = av
		}
		return events.NewListAttribute(list), nil
	case *types.AttributeValueMemberM:
		m := make(map[string]events.DynamoDBAttributeValue, len(v.Value))
		for name, e := range v.Value {
			av, err := ToEvent(e)
			if err != nil {
				return events.DynamoDBAttributeValue{}, fmt.Errorf("attribute %q: %w", name, err)
			}
			m[name] = av
		}
		return events.NewMapAttribute(m), nil
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value), nil
	case *types.AttributeValueMemberNS:
		return events.NewNumberSetAttribute(v.Value), nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return events.DynamoDBAttributeValue{}, fmt.Errorf("%w: a NULL that is false", ErrNoValue)
		}
		return events.NewNullAttribute(), nil
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value), nil
	case *types.AttributeValueMemberSS:
		return events.NewStringSetAttribute(v.Value), nil
	}
	return events.DynamoDBAttributeValue{}, fmt.Errorf("%w: %T", ErrNoValue, v)
}
