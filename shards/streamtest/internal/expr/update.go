package expr

import (
	"fmt"
	"slices"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update is a parsed update expression.
type Update struct{ actions []action }

type action struct {
	verb string // SET, REMOVE, ADD, DELETE
	at   path
	to   term // SET's right side
	by   value.Value
}

// term is the right side of a SET: it can fail where an operand is just absent.
type term interface {
	value(item value.Item) (value.Value, error)
}

type (
	plain struct{ o operand }
	sum   struct {
		a, b  term
		minus bool
	}
	ifNotExists struct {
		at    path
		other term
	}
	listAppend struct{ a, b term }
)

// Update parses an update expression.
func (s *Scope) Update(text string) (*Update, error) {
	p, err := s.parser(text)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != end {
		t := p.next()
		var read func() (action, error)
		var verb string
		switch {
		case t.keyword("SET"):
			verb, read = "SET", p.setAction
		case t.keyword("REMOVE"):
			verb, read = "REMOVE", p.removeAction
		case t.keyword("ADD"):
			verb, read = "ADD", p.addAction
		case t.keyword("DELETE"):
			verb, read = "DELETE", p.deleteAction
		default:
			return nil, syntax(t.text)
		}
		if seen[verb] {
			return nil, fmt.Errorf("the %q section can only be used once in an update expression", verb)
		}
		seen[verb] = true
		for {
			a, err := read()
			if err != nil {
				return nil, err
			}
			a.verb = verb
			u.actions = append(u.actions, a)
			if !p.accept(",") {
				break
			}
		}
	}
	return u, u.overlap()
}

func (u *Update) overlap() error {
	for i, a := range u.actions {
		for _, b := range u.actions[:i] {
			if a.at.conflicts(b.at) {
				return fmt.Errorf("two document paths conflict with each other; must remove or rewrite one of these paths; path one: [%v], path two: [%v]", b.at, a.at)
			}
			if a.at.within(b.at) || b.at.within(a.at) {
				return fmt.Errorf("two document paths overlap with each other; must remove or rewrite one of these paths; path one: [%v], path two: [%v]", b.at, a.at)
			}
		}
	}
	return nil
}

// Roots names the top-level attributes the update touches.
func (u *Update) Roots() []string {
	var out []string
	for _, a := range u.actions {
		if !slices.Contains(out, a.at[0].name) {
			out = append(out, a.at[0].name)
		}
	}
	return out
}

// Apply returns the updated item. The given one is unchanged and shares what
// was not updated. Right sides see the item as it was.
func (u *Update) Apply(item value.Item) (value.Item, error) {
	out := item
	var removals []path
	for _, a := range u.actions {
		var v value.Value
		var err error
		switch a.verb {
		case "SET":
			v, err = a.to.value(item)
		case "ADD":
			v, err = add(a.at.eval(item), a.by)
		case "DELETE":
			old := a.at.eval(item)
			if old == nil {
				continue
			}
			v, err = without(old, a.by)
		case "REMOVE":
			removals = append(removals, a.at)
			continue
		}
		if err == nil {
			out, err = a.at.set(out, v)
		}
		if err != nil {
			return nil, err
		}
	}
	// From the highest index down, so that removing one list element does not
	// move the next.
	slices.SortStableFunc(removals, func(a, b path) int { return b[len(b)-1].index - a[len(a)-1].index })
	for _, at := range removals {
		if len(at) > 1 && at[:len(at)-1].eval(out) == nil {
			return nil, errPath
		}
		var err error
		if out, err = at.set(out, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *parser) setAction() (action, error) {
	at, err := p.path()
	if err != nil {
		return action{}, err
	}
	if err := p.expect("="); err != nil {
		return action{}, err
	}
	to, err := p.sum()
	return action{at: at, to: to}, err
}

// sum reads a term, or two joined by + or -.
func (p *parser) sum() (term, error) {
	a, err := p.term()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	if !t.is("+") && !t.is("-") {
		return a, nil
	}
	p.next()
	b, err := p.term()
	if err != nil {
		return nil, err
	}
	if err := onlyPlain(t.text, "N", a, b); err != nil {
		return nil, err
	}
	return sum{a, b, t.text == "-"}, nil
}

func (p *parser) removeAction() (action, error) {
	at, err := p.path()
	return action{at: at}, err
}

func (p *parser) addAction() (action, error) {
	a, err := p.byValue()
	if err == nil && !slices.Contains([]string{"N", "SS", "NS", "BS"}, value.TypeOf(a.by)) {
		err = fmt.Errorf("incorrect operand type for operator or function; operator: ADD, operand type: %s", value.TypeOf(a.by))
	}
	return a, err
}

func (p *parser) deleteAction() (action, error) {
	a, err := p.byValue()
	if err == nil && !slices.Contains([]string{"SS", "NS", "BS"}, value.TypeOf(a.by)) {
		err = fmt.Errorf("incorrect operand type for operator or function; operator: DELETE, operand type: %s", value.TypeOf(a.by))
	}
	return a, err
}

func (p *parser) byValue() (action, error) {
	at, err := p.path()
	if err != nil {
		return action{}, err
	}
	t := p.next()
	if t.kind != valued {
		return action{}, syntax(t.text)
	}
	v, err := p.scope.value(t.text)
	return action{at: at, by: v}, err
}

func (p *parser) term() (term, error) {
	if p.depth++; p.depth > 300 {
		return nil, fmt.Errorf("the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	t := p.peek()
	switch {
	case p.accept("("):
		inner, err := p.sum()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	case t.kind == valued:
		o, err := p.operand()
		return plain{o}, err
	case t.kind != word || !p.tokens[p.at+1].is("("):
		at, err := p.path()
		return plain{at}, err
	}
	p.at += 2
	switch t.text {
	case "if_not_exists":
		at, err := p.path()
		if err != nil {
			return nil, err
		}
		other, err := p.lastArgument()
		return ifNotExists{at, other}, err
	case "list_append":
		a, err := p.term()
		if err != nil {
			return nil, err
		}
		b, err := p.lastArgument()
		if err != nil {
			return nil, err
		}
		if err := onlyPlain(t.text, "L", a, b); err != nil {
			return nil, err
		}
		return listAppend{a, b}, nil
	}
	return nil, fmt.Errorf("invalid function name; function: %s", t.text)
}

func (p *parser) lastArgument() (term, error) {
	if err := p.expect(","); err != nil {
		return nil, err
	}
	t, err := p.term()
	if err != nil {
		return nil, err
	}
	return t, p.expect(")")
}

func (t plain) value(item value.Item) (value.Value, error) {
	v := t.o.eval(item)
	if v == nil {
		return nil, fmt.Errorf("the provided expression refers to an attribute that does not exist in the item")
	}
	return v, nil
}

func (t ifNotExists) value(item value.Item) (value.Value, error) {
	if v := t.at.eval(item); v != nil {
		return v, nil
	}
	return t.other.value(item)
}

func (t sum) value(item value.Item) (value.Value, error) {
	a, err := t.a.value(item)
	if err != nil {
		return nil, err
	}
	b, err := t.b.value(item)
	if err != nil {
		return nil, err
	}
	return addNumbers(a, b, t.minus)
}

func (t listAppend) value(item value.Item) (value.Value, error) {
	a, err := t.a.value(item)
	if err != nil {
		return nil, err
	}
	b, err := t.b.value(item)
	if err != nil {
		return nil, err
	}
	x, okX := a.(*types.AttributeValueMemberL)
	y, okY := b.(*types.AttributeValueMemberL)
	if !okX || !okY {
		return nil, errOperandType
	}
	return &types.AttributeValueMemberL{Value: slices.Concat(x.Value, y.Value)}, nil
}

// onlyPlain refuses those of an operation's terms whose type is known before
// anything is evaluated, and wrong.
func onlyPlain(operation, kind string, terms ...term) error {
	for _, t := range terms {
		if l, ok := t.(plain); ok {
			if err := onlyTypes(operation, l.o, kind); err != nil {
				return err
			}
		}
	}
	return nil
}
