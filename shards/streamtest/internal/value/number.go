package value

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxDigits is the precision of a DynamoDB number.
const MaxDigits = 38

// Number is a decimal: ± 0.d1d2d3… × 10^exp, digits without leading or
// trailing zeros. Zero has no digits.
type Number struct {
	neg    bool
	digits string
	exp    int
}

// ParseNumber reads a DynamoDB number. It refuses what DynamoDB refuses: no
// number at all, more than 38 significant digits, a magnitude outside
// 1E-130 to 9.99E+125.
func ParseNumber(s string) (Number, error) {
	bad := func() (Number, error) {
		return Number{}, fmt.Errorf("the parameter cannot be converted to a numeric value: %q", s)
	}
	rest := s
	n := Number{}
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		n.neg = rest[0] == '-'
		rest = rest[1:]
	}
	mantissa := rest
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil || e > 100_000 || e < -100_000 {
			return bad()
		}
		n.exp = e
		mantissa = rest[:i]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole == "" && frac == "" {
		return bad()
	}
	for _, part := range [2]string{whole, frac} {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return bad()
			}
		}
	}
	n.exp += len(whole)
	digits := whole + frac
	trimmed := strings.TrimLeft(digits, "0")
	n.exp -= len(digits) - len(trimmed)
	n.digits = strings.TrimRight(trimmed, "0")
	if n.digits == "" {
		return Number{}, nil
	}
	if len(n.digits) > MaxDigits {
		return Number{}, fmt.Errorf("attempting to store more than 38 significant digits in a Number: %q", s)
	}
	if n.exp > 126 || n.exp < -129 {
		return Number{}, fmt.Errorf("number out of range, magnitude must be from 1E-130 to 9.99E+125: %q", s)
	}
	return n, nil
}

// Compare orders numbers by value: -1, 0 or 1.
func (n Number) Compare(m Number) int {
	if s, t := n.sign(), m.sign(); s != t {
		return cmpInt(s, t)
	}
	c := cmpInt(n.exp, m.exp)
	if n.digits == "" {
		c = 0
	} else if c == 0 {
		c = strings.Compare(n.digits, m.digits)
	}
	if n.neg {
		return -c
	}
	return c
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	}
	return 1
}

// Add returns n+m, refused if it needs more than 38 digits.
func (n Number) Add(m Number) (Number, error) {
	a, ae := n.integer()
	b, be := m.integer()
	e := min(ae, be)
	scale(a, ae-e)
	scale(b, be-e)
	return ParseNumber(a.Add(a, b).String() + "E" + strconv.Itoa(e))
}

// Negate returns -n.
func (n Number) Negate() Number {
	n.neg = !n.neg && n.digits != ""
	return n
}

// integer returns v and e with n = v × 10^e.
func (n Number) integer() (*big.Int, int) {
	v := new(big.Int)
	if n.digits == "" {
		return v, 0
	}
	v.SetString(n.digits, 10)
	if n.neg {
		v.Neg(v)
	}
	return v, n.exp - len(n.digits)
}

func scale(v *big.Int, by int) {
	if by > 0 && v.Sign() != 0 {
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(by)), nil))
	}
}

// String writes the number as DynamoDB answers it: plain digits while they are
// few, an exponent otherwise.
func (n Number) String() string {
	if n.digits == "" {
		return "0"
	}
	var b strings.Builder
	if n.neg {
		b.WriteByte('-')
	}
	switch {
	case n.exp > MaxDigits || n.exp < -18:
		b.WriteString(n.digits[:1])
		if len(n.digits) > 1 {
			b.WriteByte('.')
			b.WriteString(n.digits[1:])
		}
		fmt.Fprintf(&b, "E%+d", n.exp-1)
	case n.exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -n.exp))
		b.WriteString(n.digits)
	case n.exp >= len(n.digits):
		b.WriteString(n.digits)
		b.WriteString(strings.Repeat("0", n.exp-len(n.digits)))
	default:
		b.WriteString(n.digits[:n.exp])
		b.WriteByte('.')
		b.WriteString(n.digits[n.exp:])
	}
	return b.String()
}

// appendOrdered appends bytes that order as the numbers do. Digits are shifted
// by one so that the end of a number is below every continuation of it.
func (n Number) appendOrdered(b []byte) []byte {
	if n.digits == "" {
		return append(b, 1)
	}
	flip := byte(0)
	if n.neg {
		flip = 0xff
		b = append(b, 0)
	} else {
		b = append(b, 2)
	}
	e := uint16(n.exp + 1000)
	b = append(b, byte(e>>8)^flip, byte(e)^flip)
	for i := range len(n.digits) {
		b = append(b, (n.digits[i]-'0'+1)^flip)
	}
	return append(b, flip)
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
