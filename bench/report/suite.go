package report

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// Suite collects the benchmarks of one program. The zero value is not usable.
type Suite struct {
	rounds int
	out    io.Writer
	strict bool

	order  []string
	bench  map[string]func(*testing.B)
	result map[string][]testing.BenchmarkResult
	broken []string
}

// New reads the flags that all benchmark programs share: -rounds (default 11),
// -time, the least time of one benchmark in one round (default 20ms), and
// -strict, to exit with status 1 if a promised bound does not hold. It is off by
// default, since on a machine that others use too a ratio near its bound falls
// on either side of it. Call it first in main.
func New() *Suite {
	testing.Init()
	rounds := flag.Int("rounds", 11, "rounds; every figure is their median")
	least := flag.Duration("time", 20*time.Millisecond, "least time of one benchmark in one round")
	strict := flag.Bool("strict", false, "exit with status 1 if a promised bound does not hold")
	flag.Parse()
	if err := flag.Set("test.benchtime", least.String()); err != nil {
		panic(err)
	}
	return &Suite{
		rounds: max(1, *rounds), out: os.Stdout, strict: *strict,
		bench:  make(map[string]func(*testing.B)),
		result: make(map[string][]testing.BenchmarkResult),
	}
}

// Rounds is how many samples every figure is the median of.
func (s *Suite) Rounds() int { return s.rounds }

// Add adds a benchmark: an ordinary benchmark function over b.N operations.
func (s *Suite) Add(name string, f func(b *testing.B)) {
	if _, ok := s.bench[name]; ok {
		panic("report: two benchmarks are named " + name)
	}
	s.order = append(s.order, name)
	s.bench[name] = f
}

// Run measures everything added since the last Run and prints a line for each.
func (s *Suite) Run() {
	var names []string
	for _, n := range s.order {
		if len(s.result[n]) == 0 {
			names = append(names, n)
		}
	}
	for range s.rounds {
		for _, n := range names {
			f := s.bench[n]
			s.result[n] = append(s.result[n], testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				f(b)
			}))
		}
	}
	for _, n := range names {
		// What the benchmark closes over may be large, and the next ones would
		// have it marked again and again.
		s.bench[n] = nil
		rs := s.result[n]
		fmt.Fprintf(s.out, "%s %s ns/op %d B/op %d allocs/op\n", n,
			figure(median(each(rs, nsPerOp))),
			int64(median(each(rs, func(r testing.BenchmarkResult) float64 { return float64(r.AllocedBytesPerOp()) }))),
			int64(median(each(rs, func(r testing.BenchmarkResult) float64 { return float64(r.AllocsPerOp()) }))))
	}
}

// NsPerOp is the median of a benchmark that was run.
func (s *Suite) NsPerOp(name string) float64 { return median(each(s.result[name], nsPerOp)) }

// Ratio prints how many times as long an operation of a takes as one of b.
func (s *Suite) Ratio(name, a, b string) float64 { return s.RatioPer(name, a, 1, b, 1) }

// RatioPer is Ratio where one operation does several items' work.
func (s *Suite) RatioPer(name, a string, aItems float64, b string, bItems float64) float64 {
	ra, rb := s.result[a], s.result[b]
	if len(ra) == 0 || len(rb) == 0 {
		panic("report: not run: " + a + " or " + b)
	}
	samples := make([]float64, len(ra))
	for i := range samples {
		samples[i] = nsPerOp(ra[i]) / aItems / (nsPerOp(rb[i]) / bItems)
	}
	v := median(samples)
	fmt.Fprintf(s.out, "ratio %s %s\n", name, figure(v))
	return v
}

// Value prints a figure that is no benchmark: bytes, counts.
func (s *Suite) Value(name string, v float64, unit string) {
	fmt.Fprintf(s.out, "value %s %s %s\n", name, figure(v), unit)
}

// AtMost notes that v, printed as name, must not exceed bound.
func (s *Suite) AtMost(name string, v, bound float64) {
	if v > bound {
		s.broken = append(s.broken, fmt.Sprintf("%s is %s, promised at most %s", name, figure(v), figure(bound)))
	}
}

// AtLeast notes that v, printed as name, must reach bound.
func (s *Suite) AtLeast(name string, v, bound float64) {
	if v < bound {
		s.broken = append(s.broken, fmt.Sprintf("%s is %s, promised at least %s", name, figure(v), figure(bound)))
	}
}

// Exit says which noted bounds do not hold and ends the program.
func (s *Suite) Exit() {
	for _, b := range s.broken {
		fmt.Fprintln(os.Stderr, "does not hold:", b)
	}
	if s.strict && len(s.broken) > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func nsPerOp(r testing.BenchmarkResult) float64 { return float64(r.T.Nanoseconds()) / float64(r.N) }

func each(rs []testing.BenchmarkResult, f func(testing.BenchmarkResult) float64) []float64 {
	vs := make([]float64, len(rs))
	for i, r := range rs {
		vs[i] = f(r)
	}
	return vs
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		panic("report: not run")
	}
	vs = slices.Sorted(slices.Values(vs))
	if n := len(vs); n%2 == 0 {
		return (vs[n/2-1] + vs[n/2]) / 2
	}
	return vs[len(vs)/2]
}

// figure shows three significant digits and never an exponent.
func figure(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}
