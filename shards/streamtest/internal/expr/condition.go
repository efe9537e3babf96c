package expr

import (
	"fmt"
	"strings"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// Condition is a parsed condition or filter expression.
type Condition struct{ root node }

// Holds evaluates the condition; an item that does not exist is nil.
func (c *Condition) Holds(item value.Item) bool { return c.root.holds(item) }

type (
	node interface{ holds(item value.Item) bool }
	// operand yields a value, nil if there is none.
	operand interface {
		eval(item value.Item) value.Value
	}

	both    struct{ a, b node }
	either  struct{ a, b node }
	negated struct{ a node }
	compare struct {
		op   string
		a, b operand
	}
	between struct{ v, lo, hi operand }
	oneOf   struct {
		v    operand
		list []operand
	}
	call struct {
		name string
		args []operand
	}
)

type literal struct{ v value.Value }

func (l literal) eval(value.Item) value.Value { return l.v }

// Condition parses a condition or filter expression.
func (s *Scope) Condition(text string) (*Condition, error) {
	p, err := s.parser(text)
	if err != nil {
		return nil, err
	}
	root, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	return &Condition{root}, p.expectEnd()
}

func (p *parser) disjunction() (node, error) {
	a, err := p.conjunction()
	for err == nil && p.acceptWord("OR") {
		var b node
		b, err = p.conjunction()
		a = either{a, b}
	}
	return a, err
}

func (p *parser) conjunction() (node, error) {
	a, err := p.negation()
	for err == nil && p.acceptWord("AND") {
		var b node
		b, err = p.negation()
		a = both{a, b}
	}
	return a, err
}

func (p *parser) negation() (node, error) {
	if p.depth++; p.depth > 300 {
		return nil, fmt.Errorf("the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	if p.acceptWord("NOT") {
		a, err := p.negation()
		return negated{a}, err
	}
	if p.accept("(") {
		a, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		return a, p.expect(")")
	}
	return p.predicate()
}

var conditionFunctions = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
}

func (p *parser) predicate() (node, error) {
	if t := p.peek(); t.kind == word && p.tokens[p.at+1].is("(") && t.text != "size" {
		want, ok := conditionFunctions[t.text]
		if !ok {
			return nil, fmt.Errorf("invalid function name; function: %s", t.text)
		}
		return p.call(want)
	}
	a, err := p.operand()
	if err != nil {
		return nil, err
	}
	switch t := p.next(); {
	case t.kind == punct && strings.Contains(" = <> < <= > >= ", " "+t.text+" "):
		b, err := p.operand()
		return compare{t.text, a, b}, err
	case t.keyword("BETWEEN"):
		lo, err := p.operand()
		if err != nil {
			return nil, err
		}
		if !p.acceptWord("AND") {
			return nil, syntax(p.peek().text)
		}
		hi, err := p.operand()
		return between{a, lo, hi}, err
	case t.keyword("IN"):
		list, err := p.operands()
		if len(list) > 100 {
			return nil, fmt.Errorf("IN takes at most 100 operands, got %d", len(list))
		}
		return oneOf{a, list}, err
	default:
		return nil, syntax(t.text)
	}
}

func (p *parser) call(want int) (node, error) {
	name := p.next().text
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(args) != want {
		return nil, fmt.Errorf("incorrect number of operands for operator or function; function: %s, number of operands: %d", name, len(args))
	}
	if _, ok := args[0].(path); !ok {
		return nil, fmt.Errorf("operator or function requires a document path; function: %s", name)
	}
	return call{name, args}, nil
}

// operands reads a parenthesised, comma separated list.
func (p *parser) operands() ([]operand, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var out []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		out = append(out, o)
		if !p.accept(",") {
			return out, p.expect(")")
		}
	}
}

func (p *parser) operand() (operand, error) {
	t := p.peek()
	switch {
	case t.kind == valued:
		p.next()
		v, err := p.scope.value(t.text)
		return literal{v}, err
	case t.kind == word && t.text == "size" && p.tokens[p.at+1].is("("):
		p.next()
		args, err := p.operands()
		if err != nil {
			return nil, err
		}
		if len(args) != 1 {
			return nil, fmt.Errorf("incorrect number of operands for operator or function; function: size, number of operands: %d", len(args))
		}
		if _, ok := args[0].(path); !ok {
			return nil, fmt.Errorf("operator or function requires a document path; function: size")
		}
		return size{args[0]}, nil
	}
	return p.path()
}
