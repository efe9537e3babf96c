package expr

import (
	"fmt"
	"slices"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What can be known of operands before there is an item is checked while
// parsing: DynamoDB refuses such a request whether or not it would be evaluated.

// literalType is the type of an operand that is a :value, "" for any other.
func literalType(o operand) string {
	if l, ok := o.(literal); ok {
		return value.TypeOf(l.v)
	}
	return ""
}

func wrongType(operator, typ string) error {
	return fmt.Errorf("incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typ)
}

func onlyTypes(operator string, o operand, allowed ...string) error {
	if t := literalType(o); t != "" && !slices.Contains(allowed, t) {
		return wrongType(operator, t)
	}
	return nil
}

// distinct refuses an operator between a path and itself.
func distinct(operator string, a, b operand) error {
	x, okX := a.(path)
	y, okY := b.(path)
	if okX && okY && slices.Equal(x, y) {
		return fmt.Errorf("the first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: [%v]", operator, x)
	}
	return nil
}

func (n between) checked() (node, error) {
	lo, hi := literalType(n.lo), literalType(n.hi)
	if lo == "" || hi == "" {
		return n, nil
	}
	if lo != hi {
		return nil, fmt.Errorf("the BETWEEN operator requires same data type for lower and upper bounds; got %s and %s", lo, hi)
	}
	if c, ok := value.Compare(n.lo.(literal).v, n.hi.(literal).v); ok && c > 0 {
		return nil, fmt.Errorf("the BETWEEN operator requires upper bound to be greater than or equal to lower bound")
	}
	return n, nil
}

var typeNames = []string{"S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"}

func (n call) checked() (node, error) {
	if want := conditionFunctions[n.name]; len(n.args) != want {
		return nil, fmt.Errorf("incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", n.name, len(n.args))
	}
	if len(n.args) == 1 {
		if _, ok := n.args[0].(path); !ok {
			return nil, fmt.Errorf("operator or function requires a document path; operator or function: %s", n.name)
		}
		return n, nil
	}
	if err := distinct(n.name, n.args[0], n.args[1]); err != nil {
		return nil, err
	}
	switch n.name {
	case "begins_with":
		for _, a := range n.args {
			if err := onlyTypes(n.name, a, "S", "B"); err != nil {
				return nil, err
			}
		}
	case "attribute_type":
		l, ok := n.args[1].(literal)
		if !ok {
			return nil, wrongType(n.name, "that of a path")
		}
		s, ok := l.v.(*types.AttributeValueMemberS)
		if !ok {
			return nil, wrongType(n.name, value.TypeOf(l.v))
		}
		if !slices.Contains(typeNames, s.Value) {
			return nil, fmt.Errorf("invalid attribute type name found; type: %s, valid types: %v", s.Value, typeNames)
		}
	}
	return n, nil
}

func (s size) checked() (operand, error) {
	return s, onlyTypes("size", s.of, "S", "B", "SS", "NS", "BS", "L", "M")
}
