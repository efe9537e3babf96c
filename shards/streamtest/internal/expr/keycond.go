package expr

import (
	"fmt"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// KeyCondition selects the items of one hash value by their range attribute.
type KeyCondition struct {
	Hash value.Value
	cond node // nil: every range value
}

// Holds tests an item of that hash value.
func (k *KeyCondition) Holds(item value.Item) bool { return k.cond == nil || k.cond.holds(item) }

// KeyCondition parses a key condition expression: equality of the hash
// attribute, and at most one condition on the range attribute.
func (s *Scope) KeyCondition(text string, schema value.Schema) (*KeyCondition, error) {
	c, err := s.Condition(text)
	if err != nil {
		return nil, err
	}
	parts := []node{c.root}
	if b, ok := c.root.(both); ok {
		parts = []node{b.a, b.b}
	}
	out := &KeyCondition{}
	for _, part := range parts {
		name, err := keyAttribute(part)
		if err != nil {
			return nil, err
		}
		switch name {
		case schema.Hash.Name:
			eq, ok := part.(compare)
			if !ok || eq.op != "=" || out.Hash != nil {
				return nil, fmt.Errorf("query key condition not supported")
			}
			out.Hash = eq.b.(literal).v
			if got := value.TypeOf(out.Hash); got != string(schema.Hash.Type) {
				return nil, fmt.Errorf("one or more parameter values were invalid: condition parameter type does not match schema type: %s is %s, want %s", name, got, schema.Hash.Type)
			}
		case schema.Range.Name:
			if out.cond != nil {
				return nil, fmt.Errorf("KeyConditionExpressions must only contain one condition per key")
			}
			if err := checkRange(part, schema.Range); err != nil {
				return nil, err
			}
			out.cond = part
		default:
			return nil, fmt.Errorf("query condition missed key schema element: %s is no key attribute", name)
		}
	}
	if out.Hash == nil {
		return nil, fmt.Errorf("query condition missed key schema element: %s", schema.Hash.Name)
	}
	return out, nil
}

// keyAttribute returns the attribute a part is about; the other operands must be values.
func keyAttribute(n node) (string, error) {
	var about operand
	var values []operand
	switch n := n.(type) {
	case compare:
		if n.op == "<>" {
			return "", fmt.Errorf("invalid operator used in KeyConditionExpression: <>")
		}
		about, values = n.a, []operand{n.b}
	case between:
		about, values = n.v, []operand{n.lo, n.hi}
	case call:
		if n.name != "begins_with" {
			return "", fmt.Errorf("invalid operator used in KeyConditionExpression: %s", n.name)
		}
		about, values = n.args[0], n.args[1:]
	default:
		return "", fmt.Errorf("invalid operator used in KeyConditionExpression: only key conditions joined by one AND")
	}
	at, ok := about.(path)
	if !ok || len(at) != 1 {
		return "", fmt.Errorf("invalid condition in KeyConditionExpression: a key attribute must stand on the left")
	}
	for _, v := range values {
		if _, ok := v.(literal); !ok {
			return "", fmt.Errorf("invalid condition in KeyConditionExpression: %s needs a value on the right", at)
		}
	}
	return at[0].name, nil
}

func checkRange(n node, part value.KeyPart) error {
	var values []operand
	switch n := n.(type) {
	case compare:
		values = []operand{n.b}
	case between:
		values = []operand{n.lo, n.hi}
	case call:
		values = n.args[1:]
		if part.Type == types.ScalarAttributeTypeN {
			return fmt.Errorf("incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
		}
	}
	for _, v := range values {
		if got := value.TypeOf(v.(literal).v); got != string(part.Type) {
			return fmt.Errorf("one or more parameter values were invalid: condition parameter type does not match schema type: %s is %s, want %s", part.Name, got, part.Type)
		}
	}
	return nil
}
