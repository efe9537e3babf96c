package expr

import (
	"fmt"
	"slices"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var errOperandType = fmt.Errorf("an operand in the update expression has an incorrect data type")

func addNumbers(a, b value.Value, minus bool) (value.Value, error) {
	x, okX := a.(*types.AttributeValueMemberN)
	y, okY := b.(*types.AttributeValueMemberN)
	if !okX || !okY {
		return nil, errOperandType
	}
	n, err := value.ParseNumber(x.Value)
	if err != nil {
		return nil, err
	}
	m, err := value.ParseNumber(y.Value)
	if err != nil {
		return nil, err
	}
	if minus {
		m = m.Negate()
	}
	r, err := n.Add(m)
	return &types.AttributeValueMemberN{Value: r.String()}, err
}

// add is ADD: numbers add up, sets unite, what is not there counts as nothing.
func add(old, by value.Value) (value.Value, error) {
	if old == nil {
		return by, nil
	}
	if _, ok := by.(*types.AttributeValueMemberN); ok {
		return addNumbers(old, by, false)
	}
	if value.TypeOf(old) != value.TypeOf(by) {
		return nil, errOperandType
	}
	members := elements(old)
	for _, e := range elements(by) {
		if !has(members, e) {
			members = append(members, e)
		}
	}
	return setOf(value.TypeOf(old), members), nil
}

// without is DELETE: set difference, nil when nothing is left.
func without(old, by value.Value) (value.Value, error) {
	if value.TypeOf(old) != value.TypeOf(by) {
		return nil, errOperandType
	}
	gone := elements(by)
	left := slices.DeleteFunc(elements(old), func(e value.Value) bool { return has(gone, e) })
	if len(left) == 0 {
		return nil, nil
	}
	return setOf(value.TypeOf(old), left), nil
}

func has(set []value.Value, e value.Value) bool {
	return slices.ContainsFunc(set, func(x value.Value) bool { return value.Equal(x, e) })
}

func setOf(typ string, members []value.Value) value.Value {
	switch typ {
	case "SS":
		out := &types.AttributeValueMemberSS{}
		for _, e := range members {
			out.Value = append(out.Value, e.(*types.AttributeValueMemberS).Value)
		}
		return out
	case "NS":
		out := &types.AttributeValueMemberNS{}
		for _, e := range members {
			out.Value = append(out.Value, e.(*types.AttributeValueMemberN).Value)
		}
		return out
	}
	out := &types.AttributeValueMemberBS{}
	for _, e := range members {
		out.Value = append(out.Value, e.(*types.AttributeValueMemberB).Value)
	}
	return out
}
