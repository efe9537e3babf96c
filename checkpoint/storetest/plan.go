package storetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Rates are the shares of calls that go wrong, each from 0 to 1; together at
// most 1. Durations are drawn evenly from zero to the bound.
type Rates struct {
	Throttled, Hung, Lost, Late float64

	Latency time.Duration // of every call, at most
	After   time.Duration // of Late calls, at most

	// Outage is the length of a run of calls on one key that are all
	// Throttled, and OutageRate the share of calls that begin one.
	Outage     int
	OutageRate float64
}

// Seeded returns a Plan that draws each call's fault from seed, the method, the
// key and the number of the call: the same calls get the same faults in every
// run, in whatever order goroutines make them.
func Seeded(seed uint64, r Rates) Plan {
	return func(c Call) Fault {
		for back := range min(r.Outage, c.N) {
			if drawn(seed, c, c.N-back, "outage").Float64() < r.OutageRate {
				return Fault{Kind: Throttled}
			}
		}
		d := drawn(seed, c, c.N, "fault")
		f := Fault{Delay: upTo(d, r.Latency)}
		switch x := d.Float64(); {
		case x < r.Throttled:
			f.Kind = Throttled
		case x < r.Throttled+r.Hung:
			f.Kind = Hung
		case x < r.Throttled+r.Hung+r.Lost:
			f.Kind = Lost
		case x < r.Throttled+r.Hung+r.Lost+r.Late:
			f.Kind = Late
			f.After = upTo(d, r.After)
		}
		return f
	}
}

func drawn(seed uint64, c Call, n int, what string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00%d", what, c.Op, c.Key.Pipeline, c.Key.Partition, n)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func upTo(d *rand.Rand, bound time.Duration) time.Duration {
	if bound <= 0 {
		return 0
	}
	return time.Duration(d.Int64N(int64(bound) + 1))
}
