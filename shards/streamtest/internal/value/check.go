package value

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Check refuses values that DynamoDB refuses to store.
func Check(v Value) error { return check(v, 1) }

// CheckItem refuses items with a value that DynamoDB refuses to store.
func CheckItem(item Item) error {
	for name, v := range item {
		if err := check(v, 1); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	return nil
}

func check(v Value, depth int) error {
	if depth > MaxDepth {
		return errors.New("nesting levels have exceeded supported limits")
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		_, err := ParseNumber(v.Value)
		return err
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			if _, err := ParseNumber(e); err != nil {
				return err
			}
		}
		return checkSet(v.Value, equalNumbers)
	case *types.AttributeValueMemberSS:
		return checkSet(v.Value, func(a, b string) bool { return a == b })
	case *types.AttributeValueMemberBS:
		return checkSet(v.Value, bytes.Equal)
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return errors.New("null attribute value types must have the value of true")
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	case nil:
		return errors.New("supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	return nil
}

func checkSet[T any](set []T, eq func(T, T) bool) error {
	if len(set) == 0 {
		return errors.New("an empty set is not allowed")
	}
	for i, a := range set {
		for _, b := range set[:i] {
			if eq(a, b) {
				return errors.New("input collection contains duplicates")
			}
		}
	}
	return nil
}

// Canonical rewrites numbers as DynamoDB stores them, in place: 1.0 and 01 are
// both 1. The item must have passed CheckItem and be the caller's own, but for
// values that are canonical already: those are only read.
func Canonical(item Item) {
	for _, v := range item {
		canonical(v)
	}
}

func canonical(v Value) {
	rewrite := func(s *string) {
		if n, err := ParseNumber(*s); err == nil {
			if text := n.String(); text != *s {
				*s = text
			}
		}
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		rewrite(&v.Value)
	case *types.AttributeValueMemberNS:
		for i := range v.Value {
			rewrite(&v.Value[i])
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			canonical(e)
		}
	case *types.AttributeValueMemberM:
		Canonical(v.Value)
	}
}
