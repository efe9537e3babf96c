package shards

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// MaxDigits is the longest sequence number accepted.
const MaxDigits = 56

// ErrSequence is returned by ParseSequenceNumber.
var ErrSequence = errors.New("shards: not a sequence number: want 1 to 56 decimal digits")

// SequenceNumber is a position in a shard: a decimal number too wide for any
// integer type. It keeps the digits as the service wrote them, leading zeros
// too, because the service is asked with them again; only Compare looks at
// the value. The zero SequenceNumber is "none" and sorts before every number.
type SequenceNumber struct{ digits string }

// ParseSequenceNumber accepts 1 to 56 decimal digits and nothing else.
func ParseSequenceNumber(s string) (SequenceNumber, error) {
	if len(s) == 0 || len(s) > MaxDigits {
		return SequenceNumber{}, fmt.Errorf("%w, got %d characters", ErrSequence, len(s))
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return SequenceNumber{}, fmt.Errorf("%w, got %q", ErrSequence, s)
		}
	}
	return SequenceNumber{s}, nil
}

// Compare orders by value: as strings "9" would sort behind "10", and a float
// cannot tell neighbours apart. It allocates nothing.
func (n SequenceNumber) Compare(o SequenceNumber) int {
	if n.digits == "" || o.digits == "" {
		return cmp.Compare(len(n.digits), len(o.digits))
	}
	a, b := significant(n.digits), significant(o.digits)
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// Less reports whether n is before o.
func (n SequenceNumber) Less(o SequenceNumber) bool { return n.Compare(o) < 0 }

// IsZero reports whether n is "none".
func (n SequenceNumber) IsZero() bool { return n.digits == "" }

// String returns the digits as they were parsed, "" for none.
func (n SequenceNumber) String() string { return n.digits }

// significant cuts leading zeros; "000" is "".
func significant(s string) string {
	for len(s) > 0 && s[0] == '0' {
		s = s[1:]
	}
	return s
}
