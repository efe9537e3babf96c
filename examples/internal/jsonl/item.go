package jsonl

import (
	"fmt"

	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Item is a set of attributes in DynamoDB's JSON: {"id":{"S":"a"},"n":{"N":"1"}}.
// Numbers stay strings, as they do not fit a float64; binaries are base64.
type Item map[string]any

// TableItem renders attributes as the DynamoDB client returns them.
func TableItem(attributes map[string]tabletypes.AttributeValue) (Item, error) {
	return render(attributes, tableValue)
}

// StreamItem renders attributes as the DynamoDB Streams client returns them.
func StreamItem(attributes map[string]streamtypes.AttributeValue) (Item, error) {
	return render(attributes, streamValue)
}

func render[V any](attributes map[string]V, value func(V) (any, error)) (Item, error) {
	if attributes == nil {
		return nil, nil
	}
	item := make(Item, len(attributes))
	for name, av := range attributes {
		v, err := value(av)
		if err != nil {
			return nil, fmt.Errorf("jsonl: attribute %q: %w", name, err)
		}
		item[name] = v
	}
	return item, nil
}

func renderList[V any](list []V, value func(V) (any, error)) ([]any, error) {
	values := make([]any, len(list))
	for i, av := range list {
		v, err := value(av)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		values[i] = v
	}
	return values, nil
}

// The two clients have types of their own for the same union: hence two
// switches that say the same.

func tableValue(av tabletypes.AttributeValue) (any, error) {
	switch v := av.(type) {
	case *tabletypes.AttributeValueMemberS:
		return Item{"S": v.Value}, nil
	case *tabletypes.AttributeValueMemberN:
		return Item{"N": v.Value}, nil
	case *tabletypes.AttributeValueMemberB:
		return Item{"B": v.Value}, nil
	case *tabletypes.AttributeValueMemberBOOL:
		return Item{"BOOL": v.Value}, nil
	case *tabletypes.AttributeValueMemberNULL:
		return Item{"NULL": v.Value}, nil
	case *tabletypes.AttributeValueMemberSS:
		return Item{"SS": v.Value}, nil
	case *tabletypes.AttributeValueMemberNS:
		return Item{"NS": v.Value}, nil
	case *tabletypes.AttributeValueMemberBS:
		return Item{"BS": v.Value}, nil
	case *tabletypes.AttributeValueMemberM:
		m, err := render(v.Value, tableValue)
		return Item{"M": m}, err
	case *tabletypes.AttributeValueMemberL:
		l, err := renderList(v.Value, tableValue)
		return Item{"L": l}, err
	}
	return nil, fmt.Errorf("type %T is not known to this version: update the program", av)
}

func streamValue(av streamtypes.AttributeValue) (any, error) {
	switch v := av.(type) {
	case *streamtypes.AttributeValueMemberS:
		return Item{"S": v.Value}, nil
	case *streamtypes.AttributeValueMemberN:
		return Item{"N": v.Value}, nil
	case *streamtypes.AttributeValueMemberB:
		return Item{"B": v.Value}, nil
	case *streamtypes.AttributeValueMemberBOOL:
		return Item{"BOOL": v.Value}, nil
	case *streamtypes.AttributeValueMemberNULL:
		return Item{"NULL": v.Value}, nil
	case *streamtypes.AttributeValueMemberSS:
		return Item{"SS": v.Value}, nil
	case *streamtypes.AttributeValueMemberNS:
		return Item{"NS": v.Value}, nil
	case *streamtypes.AttributeValueMemberBS:
		return Item{"BS": v.Value}, nil
	case *streamtypes.AttributeValueMemberM:
		m, err := render(v.Value, streamValue)
		return Item{"M": m}, err
	case *streamtypes.AttributeValueMemberL:
		l, err := renderList(v.Value, streamValue)
		return Item{"L": l}, err
	}
	return nil, fmt.Errorf("type %T is not known to this version: update the program", av)
}
