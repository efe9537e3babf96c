package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// chance draws everything that a world leaves to chance from its seed and a name,
// never from the order of calls: goroutines that race draw the same.
type chance uint64

// of is a generator of its own for a name.
func (c chance) of(name string, n ...int) dice {
	h := fnv.New64a()
	h.Write([]byte(name))
	x := h.Sum64()
	for _, i := range n {
		x = (x ^ uint64(i)) * 0x9e3779b97f4a7c15
	}
	return dice{rand.New(rand.NewPCG(uint64(c), x))}
}

type dice struct{ *rand.Rand }

// oneIn is true once in n times.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// between is a duration from lo to hi, to the nanosecond: what happens to two
// goroutines rarely happens at one instant.
func (d dice) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.Int64N(int64(hi-lo)+1))
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }
