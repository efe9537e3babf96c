// Package jitter is the pause between retries, and draws its random part, which
// keeps those that failed together from returning together. A simulation fixes
// it, so that what it ran can be run again.
package jitter

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

var fixed atomic.Bool

// Fix makes every later Part a function of its arguments and the instant, which in
// virtual time repeats. There is no way back.
func Fix() { fixed.Store(true) }

// Backoff is the pause after the n-th failure, n from 1: from, doubled with each
// failure up to most, less a part, of 0 to 1, of one half of it.
func Backoff(from, most time.Duration, n int, part float64) time.Duration {
	d := from
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	return d - time.Duration(part*float64(d/2))
}

// Part is in [0, 1): by chance, or, once fixed, what the n-th pause of the name is
// given at this instant, whichever goroutine asks first.
func Part(name string, n int) float64 {
	if !fixed.Load() {
		return rand.Float64()
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(time.Now().UnixNano()))).Float64()
}
