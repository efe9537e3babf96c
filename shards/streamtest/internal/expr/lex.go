package expr

import (
	"fmt"
	"strings"
)

type kind int

const (
	end    kind = iota
	word        // attribute name, keyword or function
	named       // #name
	valued      // :value
	number      // list index
	punct       // one of ( ) , . [ ] + - and the comparators
)

type token struct {
	kind kind
	text string
}

func (t token) is(text string) bool { return t.kind == punct && t.text == text }

// keyword compares words as DynamoDB does, without regard to case.
func (t token) keyword(k string) bool { return t.kind == word && strings.EqualFold(t.text, k) }

// lex splits an expression into tokens, the last of kind end.
func lex(text string) ([]token, error) {
	var out []token
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '#' || c == ':':
			j := i + 1
			for j < len(text) && isNameByte(text[j]) {
				j++
			}
			if j == i+1 {
				return nil, syntax(string(c))
			}
			k := named
			if c == ':' {
				k = valued
			}
			out = append(out, token{k, text[i:j]})
			i = j
		case c >= '0' && c <= '9':
			j := i
			for j < len(text) && text[j] >= '0' && text[j] <= '9' {
				j++
			}
			out = append(out, token{number, text[i:j]})
			i = j
		case isNameByte(c):
			j := i
			for j < len(text) && isNameByte(text[j]) {
				j++
			}
			out = append(out, token{word, text[i:j]})
			i = j
		case strings.HasPrefix(text[i:], "<>"), strings.HasPrefix(text[i:], "<="), strings.HasPrefix(text[i:], ">="):
			out = append(out, token{punct, text[i : i+2]})
			i += 2
		case strings.IndexByte("()[],.+-=<>", c) >= 0:
			out = append(out, token{punct, text[i : i+1]})
			i++
		default:
			return nil, syntax(string(c))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the expression can not be empty")
	}
	return append(out, token{end, "<EOF>"}), nil
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func syntax(near string) error { return fmt.Errorf("syntax error; token: %q", near) }

// parser walks the tokens of one expression.
type parser struct {
	scope  *Scope
	tokens []token
	at     int
	depth  int
}

func (s *Scope) parser(text string) (*parser, error) {
	if len(text) > 4096 {
		return nil, fmt.Errorf("expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	tokens, err := lex(text)
	return &parser{scope: s, tokens: tokens}, err
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) acceptWord(k string) bool {
	if p.peek().keyword(k) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("%w, expected %q", syntax(p.peek().text), text)
	}
	return nil
}

func (p *parser) expectEnd() error {
	if p.peek().kind != end {
		return syntax(p.peek().text)
	}
	return nil
}
