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
		from := p.at
		a, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		if p.isGroup(from, p.at) {
			return nil, fmt.Errorf("the expression has redundant parentheses")
		}
		return a, p.expect(")")
	}
	return p.predicate()
}

// isGroup reports whether the tokens from..to are one pair of parentheses and
// what is in it.
func (p *parser) isGroup(from, to int) bool {
	depth := 0
	for i := from; i < to; i++ {
		switch t := p.tokens[i]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 {
			return i > from && i == to-1
		}
	}
	return false
}

// conditionFunctions are the functions that are conditions, with their operands.
var conditionFunctions = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
}

func (p *parser) predicate() (node, error) {
	if t := p.peek(); t.kind == word && p.tokens[p.at+1].is("(") && t.text != "size" {
		if conditionFunctions[t.text] == 0 {
			return nil, fmt.Errorf("invalid function name; function: %s", t.text)
		}
		name := p.next().text
		args, err := p.operands()
		if err != nil {
			return nil, err
		}
		return call{name, args}.checked()
	}
	a, err := p.operand()
	if err != nil {
		return nil, err
	}
	switch t := p.next(); {
	case t.kind == punct && strings.Contains(" = <> < <= > >= ", " "+t.text+" "):
		b, err := p.operand()
		if err != nil {
			return nil, err
		}
		return compare{t.text, a, b}, distinct(t.text, a, b)
	case t.keyword("BETWEEN"):
		lo, err := p.operand()
		if err != nil {
			return nil, err
		}
		if !p.acceptWord("AND") {
			return nil, syntax(p.peek().text)
		}
		hi, err := p.operand()
		if err != nil {
			return nil, err
		}
		return between{a, lo, hi}.checked()
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
		return size{args[0]}.checked()
	}
	return p.path()
}
