// Package jitter draws the random part of the pauses between retries, which keeps
// those that failed together from returning together. A simulation fixes it, so
// that what it ran can be run again.
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
