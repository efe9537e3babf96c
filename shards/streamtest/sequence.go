package streamtest

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// sequence is a sequence number of up to 39 digits: hi × 10^19 + lo.
//
// Invariant: lo < 10^19.
type sequence struct{ hi, lo uint64 }

const sequenceBase = 10_000_000_000_000_000_000 // 10^19, the most lo holds

func (q sequence) String() string {
	if q == (sequence{}) {
		return ""
	}
	if q.hi == 0 {
		return strconv.FormatUint(q.lo, 10)
	}
	lo := strconv.FormatUint(q.lo, 10)
	return strconv.FormatUint(q.hi, 10) + strings.Repeat("0", 19-len(lo)) + lo
}

func (q sequence) less(r sequence) bool {
	return q.hi < r.hi || q.hi == r.hi && q.lo < r.lo
}

func parseSequence(s string) (sequence, error) {
	bad := func() (sequence, error) { return sequence{}, fmt.Errorf("not a sequence number: %q", s) }
	trimmed := strings.TrimLeft(s, "0")
	if trimmed == "" || len(trimmed) > 39 {
		return bad()
	}
	var q sequence
	var err error
	if cut := len(trimmed) - 19; cut > 0 {
		if q.hi, err = strconv.ParseUint(trimmed[:cut], 10, 64); err != nil {
			return bad()
		}
		trimmed = trimmed[cut:]
	}
	if q.lo, err = strconv.ParseUint(trimmed, 10, 64); err != nil {
		return bad()
	}
	return q, nil
}

// sequencer hands out the numbers of one line of shards, parent to child.
// They grow by irregular steps and, after the 3rd, 30th, 300th, …, by a digit:
// who compares them as strings is found out early, and again later.
type sequencer struct {
	last  sequence
	count uint64
	grow  uint64
	rand  uint64
}

// newSequencer starts at 21 digits. Every other line starts just below 10^21
// and so crosses from 21 to 22 digits on its first numbers.
func newSequencer(seed uint64, ordinal int) sequencer {
	g := sequencer{grow: 3, rand: seed}
	g.last = sequence{hi: 10 + g.next()%80, lo: g.next() % sequenceBase}
	if ordinal%2 == 1 {
		g.last = sequence{hi: 99, lo: sequenceBase - 1 - g.next()%1_000_000}
	}
	return g
}

func (g *sequencer) take() sequence {
	if g.count++; g.count == g.grow && g.last.hi < 1e18 {
		g.grow *= 10
		g.last.hi = g.last.hi*10 + g.next()%10
	}
	lo, carry := bits.Add64(g.last.lo, 1+g.next()%1_000_000, 0)
	if carry == 1 || lo >= sequenceBase {
		lo -= sequenceBase
		g.last.hi++
	}
	g.last.lo = lo
	return g.last
}

// next is a step of splitmix64.
func (g *sequencer) next() uint64 {
	g.rand += 0x9e3779b97f4a7c15
	return mix(g.rand)
}
