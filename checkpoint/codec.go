package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Codec turns positions into the store's human-readable strings and back.
// Encode is deterministic and never returns "" (that means "nothing settled
// yet"); Decode(Encode(p)) equals p. Decode refuses what Encode cannot have
// written, so that a row is never half understood (C8). Both are called from
// several goroutines. Their errors say what is wrong with a position without
// quoting it: a position can hold parts of an item, is of any length, and errors
// end in logs. The row is named by whoever calls.
type Codec[P any] interface {
	Encode(pos P) (string, error)
	Decode(s string) (P, error)
}

var errEmptyPosition = errors.New("checkpoint: a position may not be empty")

// Text is the Codec of positions that are strings already.
type Text[P ~string] struct{}

// Encode implements Codec.
func (Text[P]) Encode(pos P) (string, error) {
	switch {
	case pos == "":
		return "", errEmptyPosition
	case !utf8.ValidString(string(pos)):
		return "", errors.New("checkpoint: the position is not UTF-8: not every store would keep it")
	}
	return string(pos), nil
}

// Decode implements Codec.
func (Text[P]) Decode(s string) (P, error) {
	if s == "" {
		return "", errEmptyPosition
	}
	return P(s), nil
}

// Integer is the Codec of integer positions: offsets, LSNs, row numbers.
type Integer[P integer] struct{}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Encode implements Codec.
func (Integer[P]) Encode(pos P) (string, error) {
	if pos < 0 {
		return strconv.FormatInt(int64(pos), 10), nil
	}
	return strconv.FormatUint(uint64(pos), 10), nil
}

// Decode implements Codec. It accepts exactly what Encode writes: no sign
// "+", no leading zeros, nothing that P cannot hold.
func (c Integer[P]) Decode(s string) (P, error) {
	var pos P
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		pos = P(n)
	} else if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		pos = P(n)
	}
	if back, _ := c.Encode(pos); back != s {
		return 0, fmt.Errorf("checkpoint: the position, %d bytes, is no %T", len(s), pos)
	}
	return pos, nil
}

// JSON is the Codec of positions with parts. Unknown fields are refused:
// a later version wrote them for a reason.
type JSON[P any] struct{}

// Encode implements Codec.
func (JSON[P]) Encode(pos P) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // for people to read
	if err := e.Encode(pos); err != nil {
		return "", fmt.Errorf("checkpoint: position: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Decode implements Codec.
func (JSON[P]) Decode(s string) (P, error) {
	var pos, zero P
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.DisallowUnknownFields()
	if err := d.Decode(&pos); err != nil {
		return zero, fmt.Errorf("checkpoint: the position, %d bytes: %w", len(s), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return zero, fmt.Errorf("checkpoint: the position, %d bytes: more than one value", len(s))
	}
	return pos, nil
}
