package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// step is one element of a document path: a map key, or a list index if list.
type step struct {
	name  string
	index int
	list  bool
}

type path []step

func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.list:
			fmt.Fprintf(&b, "[%d]", s.index)
		case i > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func (p path) eval(item value.Item) value.Value {
	v := item[p[0].name]
	for _, s := range p[1:] {
		switch at := v.(type) {
		case *types.AttributeValueMemberM:
			if s.list {
				return nil
			}
			v = at.Value[s.name]
		case *types.AttributeValueMemberL:
			if !s.list || s.index >= len(at.Value) {
				return nil
			}
			v = at.Value[s.index]
		default:
			return nil
		}
	}
	return v
}

// within reports whether p is q or lies below it.
func (p path) within(q path) bool {
	if len(p) < len(q) {
		return false
	}
	for i := range q {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// conflicts reports whether p takes for a list what q takes for a map.
func (p path) conflicts(q path) bool {
	for i := range min(len(p), len(q)) {
		if p[i].list != q[i].list {
			return true
		}
		if p[i] != q[i] {
			return false
		}
	}
	return false
}

func (p *parser) path() (path, error) {
	first, err := p.pathName()
	if err != nil {
		return nil, err
	}
	out := path{{name: first}}
	for {
		switch {
		case p.accept("."):
			name, err := p.pathName()
			if err != nil {
				return nil, err
			}
			out = append(out, step{name: name})
		case p.accept("["):
			t := p.next()
			i, err := strconv.Atoi(t.text)
			if t.kind != number || err != nil {
				return nil, syntax(t.text)
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			out = append(out, step{index: i, list: true})
		default:
			if len(out) > value.MaxDepth {
				return nil, fmt.Errorf("the document path has too many nesting elements: %d", len(out))
			}
			return out, nil
		}
	}
}

func (p *parser) pathName() (string, error) {
	t := p.next()
	switch t.kind {
	case named:
		return p.scope.name(t.text)
	case word:
		if reserved[strings.ToUpper(t.text)] {
			return "", fmt.Errorf("attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		return t.text, nil
	}
	return "", syntax(t.text)
}

// set returns item with v at the path, sharing all that is not on the path.
// A nil v removes. Parents must exist.
func (p path) set(item value.Item, v value.Value) (value.Item, error) {
	if len(p) == 1 {
		out := make(value.Item, len(item)+1)
		for name, old := range item {
			out[name] = old
		}
		if v == nil {
			delete(out, p[0].name)
		} else {
			out[p[0].name] = v
		}
		return out, nil
	}
	below, err := p[1:].setIn(item[p[0].name], v)
	if err != nil {
		return nil, err
	}
	return p[:1].set(item, below)
}

var errPath = fmt.Errorf("the document path provided in the update expression is invalid for update")

func (p path) setIn(at, v value.Value) (value.Value, error) {
	switch at := at.(type) {
	case *types.AttributeValueMemberM:
		if p[0].list {
			return nil, errPath
		}
		m, err := p.set(at.Value, v)
		return &types.AttributeValueMemberM{Value: m}, err
	case *types.AttributeValueMemberL:
		if !p[0].list {
			return nil, errPath
		}
		return p.setInList(at.Value, v)
	}
	return nil, errPath
}

func (p path) setInList(list []value.Value, v value.Value) (value.Value, error) {
	i := p[0].index
	out := append(make([]value.Value, 0, len(list)+1), list...)
	switch {
	case len(p) > 1:
		if i >= len(out) {
			return nil, errPath
		}
		below, err := p[1:].setIn(out[i], v)
		if err != nil {
			return nil, err
		}
		out[i] = below
	case v == nil:
		if i < len(out) {
			out = append(out[:i], out[i+1:]...)
		}
	case i < len(out):
		out[i] = v
	default:
		out = append(out, v)
	}
	return &types.AttributeValueMemberL{Value: out}, nil
}
