package expr

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (n both) holds(item value.Item) bool    { return n.a.holds(item) && n.b.holds(item) }
func (n either) holds(item value.Item) bool  { return n.a.holds(item) || n.b.holds(item) }
func (n negated) holds(item value.Item) bool { return !n.a.holds(item) }

// A comparison with something that is not there is false, but for <>, which is
// true: not there is not equal.
func (n compare) holds(item value.Item) bool {
	a, b := n.a.eval(item), n.b.eval(item)
	switch n.op {
	case "=":
		return a != nil && b != nil && value.Equal(a, b)
	case "<>":
		return a == nil || b == nil || !value.Equal(a, b)
	}
	c, ok := value.Compare(a, b)
	if !ok {
		return false
	}
	switch n.op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func (n between) holds(item value.Item) bool {
	return compare{">=", n.v, n.lo}.holds(item) && compare{"<=", n.v, n.hi}.holds(item)
}

func (n oneOf) holds(item value.Item) bool {
	return slices.ContainsFunc(n.list, func(o operand) bool { return compare{"=", n.v, o}.holds(item) })
}

func (n call) holds(item value.Item) bool {
	v := n.args[0].eval(item)
	switch n.name {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	}
	arg := n.args[1].eval(item)
	switch n.name {
	case "attribute_type":
		s, ok := arg.(*types.AttributeValueMemberS)
		return ok && v != nil && value.TypeOf(v) == s.Value
	case "begins_with":
		return beginsWith(v, arg)
	}
	return contains(v, arg)
}

func beginsWith(v, prefix value.Value) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		p, ok := prefix.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := prefix.(*types.AttributeValueMemberB)
		return ok && bytes.HasPrefix(v.Value, p.Value)
	}
	return false
}

func contains(v, part value.Value) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		p, ok := part.(*types.AttributeValueMemberS)
		return ok && strings.Contains(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := part.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(v.Value, p.Value)
	case *types.AttributeValueMemberL:
		return part != nil && slices.ContainsFunc(v.Value, func(e value.Value) bool { return value.Equal(e, part) })
	}
	return slices.ContainsFunc(elements(v), func(e value.Value) bool { return part != nil && value.Equal(e, part) })
}

// elements lists a set's members as values of their own.
func elements(v value.Value) []value.Value {
	var out []value.Value
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		for _, e := range v.Value {
			out = append(out, &types.AttributeValueMemberS{Value: e})
		}
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			out = append(out, &types.AttributeValueMemberN{Value: e})
		}
	case *types.AttributeValueMemberBS:
		for _, e := range v.Value {
			out = append(out, &types.AttributeValueMemberB{Value: e})
		}
	}
	return out
}

type size struct{ of operand }

func (s size) eval(item value.Item) value.Value {
	n := 0
	switch v := s.of.eval(item).(type) {
	case *types.AttributeValueMemberS:
		n = len([]rune(v.Value))
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		n = len(elements(v))
	default:
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}
