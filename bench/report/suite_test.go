package report

import (
	"bytes"
	"regexp"
	"testing"
	"time"
)

func TestLinesAndRatios(t *testing.T) {
	var out bytes.Buffer
	s := &Suite{
		rounds: 1, out: &out,
		bench:  map[string]func(*testing.B){},
		result: map[string][]testing.BenchmarkResult{},
	}
	// Results of known size instead of a run: what is tested is the arithmetic.
	for i, ns := range []int{30, 10, 20} {
		s.result["slow"] = append(s.result["slow"], testing.BenchmarkResult{N: 10, T: time.Duration(640 * ns)})
		s.result["fast"] = append(s.result["fast"], testing.BenchmarkResult{N: 1, T: time.Duration(ns + i)})
	}
	if got := s.NsPerOp("slow"); got != 1280 {
		t.Errorf("median is %v, not 1280", got)
	}
	s.RatioPer("slow/fast", "slow", 64, "fast", 1)
	s.Value("kept", 12.34, "B/item")
	s.AtMost("slow/fast", 2, 1)
	s.AtLeast("slow/fast", 2, 1)
	if len(s.broken) != 1 {
		t.Errorf("broken bounds: %q", s.broken)
	}
	want := regexp.MustCompile(`^ratio slow/fast 0\.91\nvalue kept 12\.3 B/item\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("printed %q", out.String())
	}
}
