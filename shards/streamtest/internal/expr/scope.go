package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// Scope holds the #names and :values of one request and notes which of them
// its expressions use, because DynamoDB refuses the others.
type Scope struct {
	names      map[string]string
	values     value.Item
	usedNames  map[string]bool
	usedValues map[string]bool
}

// NewScope checks the placeholders and returns their scope.
func NewScope(names map[string]string, values value.Item) (*Scope, error) {
	for placeholder, name := range names {
		if len(placeholder) < 2 || placeholder[0] != '#' {
			return nil, fmt.Errorf("ExpressionAttributeNames contains invalid key: syntax error; key: %q", placeholder)
		}
		if name == "" {
			return nil, fmt.Errorf("ExpressionAttributeNames must not contain an empty name; key: %q", placeholder)
		}
	}
	for placeholder, v := range values {
		if len(placeholder) < 2 || placeholder[0] != ':' {
			return nil, fmt.Errorf("ExpressionAttributeValues contains invalid key: syntax error; key: %q", placeholder)
		}
		if err := value.Check(v); err != nil {
			return nil, fmt.Errorf("ExpressionAttributeValues contains invalid value: %w for key %s", err, placeholder)
		}
	}
	return &Scope{
		names: names, values: values,
		usedNames: make(map[string]bool, len(names)), usedValues: make(map[string]bool, len(values)),
	}, nil
}

func (s *Scope) name(placeholder string) (string, error) {
	name, ok := s.names[placeholder]
	if !ok {
		return "", fmt.Errorf("an expression attribute name used in the document path is not defined; attribute name: %s", placeholder)
	}
	s.usedNames[placeholder] = true
	return name, nil
}

func (s *Scope) value(placeholder string) (value.Value, error) {
	v, ok := s.values[placeholder]
	if !ok {
		return nil, fmt.Errorf("an expression attribute value used in expression is not defined; attribute value: %s", placeholder)
	}
	s.usedValues[placeholder] = true
	return v, nil
}

// Unused refuses placeholders that no expression of the request used.
func (s *Scope) Unused() error {
	var names, values []string
	for n := range s.names {
		if !s.usedNames[n] {
			names = append(names, n)
		}
	}
	for v := range s.values {
		if !s.usedValues[v] {
			values = append(values, v)
		}
	}
	slices.Sort(names)
	slices.Sort(values)
	if len(names) > 0 {
		return fmt.Errorf("value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(names, ", "))
	}
	if len(values) > 0 {
		return fmt.Errorf("value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", strings.Join(values, ", "))
	}
	return nil
}
