package value

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// KeyPart is one attribute of a primary key.
type KeyPart struct {
	Name string
	Type types.ScalarAttributeType
}

// Schema is a primary key: a hash attribute and perhaps a range attribute.
type Schema struct {
	Hash  KeyPart
	Range KeyPart // Name "" if there is none
}

// Parts returns the key's attributes, hash first.
func (s Schema) Parts() []KeyPart {
	if s.Range.Name == "" {
		return []KeyPart{s.Hash}
	}
	return []KeyPart{s.Hash, s.Range}
}

// Encoded is a key as bytes: hash of the hash attribute, then the attributes
// themselves, so that the bytes order first by partition, then by the hash
// attribute, then by the range attribute in its own order.
type Encoded string

// HashOf returns the point of the hash attribute in the partition space.
func (e Encoded) HashOf() uint64 { return binary.BigEndian.Uint64([]byte(e[:8])) }

// Key takes the primary key out of an item. The values are shared.
func (s Schema) Key(item Item) Item {
	key := make(Item, 2)
	for _, p := range s.Parts() {
		if v, ok := item[p.Name]; ok {
			key[p.Name] = v
		}
	}
	return key
}

// Encode encodes the primary key of an item, refusing a missing, empty or
// mistyped key attribute.
func (s Schema) Encode(item Item) (Encoded, error) {
	prefix, err := s.EncodeHash(item[s.Hash.Name])
	if err != nil || s.Range.Name == "" {
		return prefix, err
	}
	b, err := s.Range.append([]byte(prefix), item[s.Range.Name])
	return Encoded(b), err
}

// EncodeExact is Encode for a key given by itself: no other attribute may be there.
func (s Schema) EncodeExact(key Item) (Encoded, error) {
	if len(key) != len(s.Parts()) {
		return "", errors.New("the provided key element does not match the schema")
	}
	return s.Encode(key)
}

// EncodeHash encodes the hash attribute alone: the prefix of all its items' keys.
func (s Schema) EncodeHash(v Value) (Encoded, error) {
	b := make([]byte, 8, 64)
	b, err := s.Hash.append(b, v)
	if err != nil {
		return "", err
	}
	binary.BigEndian.PutUint64(b, spread(b[8:]))
	return Encoded(b), nil
}

// EncodeRange encodes the range attribute alone, as it follows the prefix.
func (s Schema) EncodeRange(v Value) (string, error) {
	b, err := s.Range.append(nil, v)
	return string(b), err
}

func (p KeyPart) append(b []byte, v Value) ([]byte, error) {
	if v == nil {
		return nil, fmt.Errorf("one of the required keys was not given a value: %s", p.Name)
	}
	if got := TypeOf(v); got != string(p.Type) {
		return nil, fmt.Errorf("type mismatch for key %s expected: %s actual: %s", p.Name, p.Type, got)
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		n, err := ParseNumber(v.Value)
		if err != nil {
			return nil, err
		}
		return n.appendOrdered(b), nil
	case *types.AttributeValueMemberS:
		return p.appendBytes(b, []byte(v.Value))
	case *types.AttributeValueMemberB:
		return p.appendBytes(b, v.Value)
	}
	return nil, fmt.Errorf("type %s cannot be a key", p.Type)
}

// appendBytes escapes zero bytes and ends with two of them, so that "a" sorts
// before "ab" whatever follows.
func (p KeyPart) appendBytes(b, s []byte) ([]byte, error) {
	if len(s) == 0 {
		return nil, fmt.Errorf("the AttributeValue for a key attribute cannot contain an empty value. Key: %s", p.Name)
	}
	for _, c := range s {
		b = append(b, c)
		if c == 0 {
			b = append(b, 1)
		}
	}
	return append(b, 0, 0), nil
}

// spread is FNV-1a with a final mix, because FNV alone leaves the high bits of
// short keys, which choose the partition, nearly alike.
func spread(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return Mix(h)
}

// Mix scrambles 64 bits; every bit of the input reaches every bit of the output.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
