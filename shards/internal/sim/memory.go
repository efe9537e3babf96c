package sim

import (
	"fmt"
	"runtime"
	"slices"
	"testing/synctest"
	"time"
)

// Day is what is in use at the end of a virtual day, after a collection: by the
// reader, and by the simulated service, store and oracle.
type Day struct {
	Number         int
	Open, Retained int // shards of the stream
	Rows           int // checkpoints in the store
	Heap, Stacks   uint64
	Goroutines     int
}

// String is one line.
func (d Day) String() string {
	return fmt.Sprintf("day %d shards-open %d shards-retained %d rows %d heap-KiB %d stacks-KiB %d goroutines %d",
		d.Number, d.Open, d.Retained, d.Rows, d.Heap>>10, d.Stacks>>10, d.Goroutines)
}

// Cost is what of the last day's use went when the last reader ended, with its
// committer.
type Cost struct {
	Open, Retained int
	Heap, Stacks   uint64
	Goroutines     int
	Age            time.Duration // of that reader
}

// String is one line.
func (c Cost) String() string {
	open := float64(max(1, c.Open))
	return fmt.Sprintf("a reader of %d open and %d retained shards, after %v: an open shard takes %.0f B of heap, %.0f B of stacks, %.3f goroutines",
		c.Open, c.Retained, c.Age.Round(time.Hour), float64(c.Heap)/open, float64(c.Stacks)/open, float64(c.Goroutines)/open)
}

// flatDays is how many days a verdict needs: the first third is for the stream
// to fill up with what it retains.
const flatDays = 9

// Growth compares the last third of the days with the second, by medians: the
// most that anything grew by. False: too few days to tell.
func Growth(days []Day) (what string, ratio float64, ok bool) {
	if len(days) < flatDays {
		return "", 0, false
	}
	third := len(days) / 3
	for _, m := range []struct {
		name string
		of   func(Day) uint64
	}{
		{"heap", func(d Day) uint64 { return d.Heap }},
		{"stacks", func(d Day) uint64 { return d.Stacks }},
		{"goroutines", func(d Day) uint64 { return uint64(d.Goroutines) }},
		{"rows", func(d Day) uint64 { return uint64(d.Rows) }},
	} {
		second, last := median(days[third:2*third], m.of), median(days[len(days)-third:], m.of)
		if r := float64(last) / float64(max(1, second)); r > ratio {
			what, ratio = m.name, r
		}
	}
	return what, ratio, true
}

// MaxGrowth is what still counts as flat.
const MaxGrowth = 1.1

func median(days []Day, of func(Day) uint64) uint64 {
	var vs []uint64
	for _, d := range days {
		vs = append(vs, of(d))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// endOfDay counts what is in use.
func (s *simulation) endOfDay() {
	list := s.service.Shards(table)
	d := Day{Number: len(s.report.Days) + 1, Open: open(list), Retained: len(list), Rows: s.rows()}
	u := inUse()
	d.Heap, d.Stacks, d.Goroutines = u.heap, u.stacks, u.goroutines
	s.report.Days = append(s.report.Days, d)
	if s.cfg.OnDay != nil {
		s.cfg.OnDay(d)
	}
}

// weigh ends the attempt in good order and counts what went with it.
func (s *simulation) weigh() bool {
	if len(s.report.Days) == 0 {
		return true
	}
	d := s.report.Days[len(s.report.Days)-1]
	age, with := s.attempt.age(), inUse()
	if err := s.attempt.err(); err != nil {
		s.report.Err = err
		return false
	}
	s.attempt.drain()
	s.attempt = nil
	without := inUse()
	s.report.Cost = Cost{
		Open: d.Open, Retained: d.Retained, Age: age,
		Heap: less(with.heap, without.heap), Stacks: less(with.stacks, without.stacks), Goroutines: with.goroutines - without.goroutines,
	}
	return s.resume()
}

func less(a, b uint64) uint64 { return a - min(a, b) }

type use struct {
	heap, stacks uint64
	goroutines   int
}

func inUse() use {
	time.Sleep(30 * time.Second) // what was on its way is there
	synctest.Wait()
	runtime.GC() // twice: pools keep what they hold over one
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return use{m.HeapAlloc, m.StackInuse, runtime.NumGoroutine()}
}
