//go:build integration

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is what a process used at an age.
type sample struct {
	age     time.Duration
	fds     int
	rss     int // KiB
	threads int
}

const sampleEvery = 200 * time.Millisecond

// measure reads /proc; false: there is none, or the process is gone.
func measure(pid int, age time.Duration) (sample, bool) {
	s := sample{age: age}
	folder := "/proc/" + strconv.Itoa(pid)
	open, err := os.ReadDir(folder + "/fd")
	if err != nil {
		return s, false
	}
	s.fds = len(open)
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return s, false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		var into *int
		switch name {
		case "VmRSS":
			into = &s.rss
		case "Threads":
			into = &s.threads
		default:
			continue
		}
		if *into, err = strconv.Atoi(strings.Fields(value)[0]); err != nil {
			return s, false
		}
	}
	return s, s.rss > 0 && s.threads > 0
}

// trend is how a number went over a life: medians of the first and the last
// third of it, after a quarter in which pools and heap fill.
type trend struct {
	first, last, most int
	known             bool
}

// fewest samples that say anything.
const fewest = 12

func trendOf(samples []sample, of func(sample) int) trend {
	samples = samples[len(samples)/4:]
	if len(samples) < fewest {
		return trend{}
	}
	values := make([]int, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	third := len(values) / 3
	return trend{median(values[:third]), median(values[len(values)-third:]), slices.Max(values), true}
}

func median(values []int) int {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// flat reports whether what came later is no more than what came first, and an
// allowance: connections come and go, and a garbage collector breathes.
func (t trend) flat(allowance int) bool { return t.last <= t.first+allowance }

func (t trend) String() string { return fmt.Sprintf("%d to %d, at most %d", t.first, t.last, t.most) }

// usage judges one long life.
type usage struct {
	lasted             time.Duration
	fds, rss, threads  trend
	goroutinesOfShort  int // of a life of seconds, 0: unknown
	goroutinesAtTheEnd int // of the long life
}

func usageOf(l *life) usage {
	u := usage{
		fds:     trendOf(l.samples, func(s sample) int { return s.fds }),
		rss:     trendOf(l.samples, func(s sample) int { return s.rss }),
		threads: trendOf(l.samples, func(s sample) int { return s.threads }),
	}
	if n := len(l.samples); n > 0 {
		u.lasted = l.samples[n-1].age
	}
	return u
}

const (
	moreFDs        = 8
	moreRSS        = 8 << 10 // KiB, and a tenth: the heap of a young process is small, and still fills
	moreThreads    = 4
	moreGoroutines = 16 // two for each connection, and those come and go
)

// memory is the word for resident memory, threads and goroutines together.
func (u usage) memory() string {
	switch {
	case !u.rss.known:
		return "unknown"
	case !u.rss.flat(u.rss.first/10+moreRSS) || !u.threads.flat(moreThreads) || !u.goroutinesFlat():
		return "growing"
	}
	return "flat"
}

func (u usage) goroutinesFlat() bool {
	return u.goroutinesOfShort == 0 || u.goroutinesAtTheEnd == 0 || u.goroutinesAtTheEnd <= u.goroutinesOfShort+moreGoroutines
}

func (u usage) descriptors() string {
	switch {
	case !u.fds.known:
		return "unknown"
	case !u.fds.flat(moreFDs):
		return "growing"
	}
	return "flat"
}
