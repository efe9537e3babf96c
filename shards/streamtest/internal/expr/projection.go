package expr

import (
	"fmt"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// Projection is a parsed projection expression of top-level attributes.
type Projection struct{ names []string }

// Projection parses a projection expression. Nested paths are refused: no
// reader here needs them.
func (s *Scope) Projection(text string) (*Projection, error) {
	p, err := s.parser(text)
	if err != nil {
		return nil, err
	}
	out := &Projection{}
	for {
		at, err := p.path()
		if err != nil {
			return nil, err
		}
		if len(at) > 1 {
			return nil, fmt.Errorf("streamtest does not support nested paths in a projection: %v", at)
		}
		out.names = append(out.names, at[0].name)
		if !p.accept(",") {
			return out, p.expectEnd()
		}
	}
}

// Apply returns the projected attributes, sharing their values. A nil
// Projection keeps all of them.
func (p *Projection) Apply(item value.Item) value.Item {
	if p == nil || item == nil {
		return item
	}
	out := make(value.Item, len(p.names))
	for _, n := range p.names {
		if v, ok := item[n]; ok {
			out[n] = v
		}
	}
	return out
}
