package keymap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
)

// Key is a DynamoDB key: one or two attributes by name.
type Key = map[string]types.AttributeValue

// Codec implements checkpoint.Codec for Key.
type Codec struct{}

var _ checkpoint.Codec[Key] = Codec{}

// number is what DynamoDB accepts and sends as N. It is checked as a string:
// 38 digits do not fit a float64.
var number = regexp.MustCompile(`^-?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$`)

// Encode implements checkpoint.Codec.
func (Codec) Encode(key Key) (string, error) {
	if len(key) == 0 {
		return "", errors.New("keymap: the key is empty")
	}
	out := make(map[string]map[string]string, len(key)) // encoding/json sorts the names
	for name, value := range key {
		if name == "" || !utf8.ValidString(name) {
			return "", fmt.Errorf("keymap: bad attribute name %q", name)
		}
		kind, text, err := encodeValue(value)
		if err != nil {
			return "", fmt.Errorf("keymap: attribute %q: %w", name, err)
		}
		out[name] = map[string]string{kind: text}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return "", fmt.Errorf("keymap: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func encodeValue(value types.AttributeValue) (kind, text string, err error) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if v != nil {
			if !utf8.ValidString(v.Value) {
				return "", "", errors.New("not UTF-8")
			}
			return "S", v.Value, nil
		}
	case *types.AttributeValueMemberN:
		if v != nil {
			if !number.MatchString(v.Value) {
				return "", "", errors.New("no number as DynamoDB writes it")
			}
			return "N", v.Value, nil
		}
	case *types.AttributeValueMemberB:
		if v != nil {
			return "B", base64.StdEncoding.EncodeToString(v.Value), nil
		}
	}
	return "", "", fmt.Errorf("%T cannot be part of a key", value)
}

// Decode implements checkpoint.Codec. It accepts what Encode writes and
// nothing else; a repeated name or an unknown type is an error.
func (c Codec) Decode(s string) (Key, error) {
	var in map[string]map[string]string
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	if err := d.Decode(&in); err != nil {
		return nil, bad(s, "%w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, bad(s, "more than one value")
	}
	key := make(Key, len(in))
	for name, typed := range in {
		if len(typed) != 1 {
			return nil, bad(s, "an attribute has not exactly one type")
		}
		for kind, text := range typed {
			value, err := decodeValue(kind, text)
			if err != nil {
				return nil, bad(s, "%w", err)
			}
			key[name] = value
		}
	}
	// One key has one encoding: whatever differs was not written by Encode,
	// and guessing what it means would resume from somewhere else.
	if again, err := c.Encode(key); err != nil || again != s {
		return nil, bad(s, "not how Encode writes this key")
	}
	return key, nil
}

// bad says what is wrong with a position without quoting it: it holds parts of
// an item, and errors end in logs.
func bad(s, format string, args ...any) error {
	return fmt.Errorf("keymap: the position, %d bytes: "+format, append([]any{len(s)}, args...)...)
}

func decodeValue(kind, text string) (types.AttributeValue, error) {
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: text}, nil
	case "N":
		return &types.AttributeValueMemberN{Value: text}, nil
	case "B":
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberB{Value: raw}, nil
	}
	return nil, errors.New("an attribute is of a type that cannot be part of a key")
}
