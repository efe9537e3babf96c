package sim

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// script is all that a world does, drawn before it starts.
type script struct {
	Seed     uint64
	Keys     int // of items there may be
	Shards   int // open at the start
	Rows     int // written before the first worker starts
	Backfill bool
	Overlap  bool // handoff, of worlds that ask no order across the handoff
	Relaxed  bool // workers may read children beside their parents
	// Origin of worlds without a backfill, as the first worker asks for it.
	Start  checkpoint.Start
	Fresh  bool // keep the Freshness that Begin returned
	ByTime bool

	Retention    time.Duration // of the stream
	RotateEvery  time.Duration // its shards grow no older: far below the retention
	Faults       float64       // share of the service's calls that fail
	StoreFaults  float64       // share of the store's
	Maimed       float64       // share of the service's answers that lose their body, or half of it
	Inconsistent float64
	EmptyPages   float64

	// Failover worlds have a second region, which has every change up to Lag later
	// and a clock that is Skew ahead. Margin covers both.
	Failover          bool
	Lag, Skew, Margin time.Duration

	Merges  bool // some shards have a parent that nobody names
	Actions []action
}

// action is one step of the script.
type action struct {
	At   time.Duration // since the first worker started
	What what
	N    int           // of what: a key, a shard among the open ones
	For  time.Duration // how long
}

type what string

const (
	put      what = "put"
	remove   what = "remove"
	rotate   what = "rotate" // one shard
	rotates  what = "rotate all"
	split    what = "split"
	merge    what = "merge" // two neighbours; their child names one of them as its parent
	disable  what = "disable the stream"
	enable   what = "enable the stream" // under another ARN; N 1: kill the worker
	failover what = "fail over"         // to the other region
	expire   what = "expire iterators"
	cut      what = "cut the store"
	heal     what = "heal the store"
	kill     what = "kill"   // the worker; For until the next one starts
	drain    what = "drain"  // likewise
	freeze   what = "freeze" // the worker; N 0: For until the next one starts
	thaw     what = "thaw"   // every frozen worker
	bury     what = "bury"   // kill all thawed zombies
	again    what = "backfill again"
)

const minute = time.Minute

func newScript(seed uint64) script {
	d := chance(seed).of("script")
	s := script{
		Seed:      seed,
		Keys:      pick(d, 3, 8, 20, 40),
		Shards:    1 + d.IntN(4),
		Backfill:  d.IntN(3) > 0,
		Relaxed:   d.oneIn(6),
		Start:     pick(d, checkpoint.StartLatest, checkpoint.StartTrimHorizon),
		Fresh:     d.oneIn(2),
		ByTime:    d.oneIn(3),
		Retention: 24 * time.Hour,
	}
	s.Rows = d.IntN(s.Keys + 1)
	s.Overlap = s.Backfill && d.oneIn(6)
	if d.IntN(5) > 0 {
		s.Faults = pick(d, 0.01, 0.03, 0.1)
		s.StoreFaults = pick(d, 0.02, 0.1, 0.25)
	}
	if d.oneIn(2) {
		s.Inconsistent = pick(d, 0.2, 0.6)
	}
	s.EmptyPages = pick(d, 0, 0, 0.1)
	s.Maimed = pick(chance(seed).of("maimed"), 0, 0, 0.02, 0.1, 0.3)
	length := d.between(2*minute, 6*minute)
	if d.oneIn(8) { // records are trimmed before they are read
		s.Retention = d.between(90*time.Second, 3*minute)
		s.RotateEvery = s.Retention / 6
		length = 8 * minute
	}
	s.write(d, length)
	s.reshape(d, length)
	s.operate(d, length)
	s.merge(length)
	s.replace(length)
	s.failover(length)
	slices.SortStableFunc(s.Actions, func(a, b action) int { return int(a.At - b.At) })
	return s
}

func (s *script) add(at time.Duration, w what, n int, long time.Duration) {
	s.Actions = append(s.Actions, action{at, w, n, long})
}

// write puts and removes items, in bursts.
func (s *script) write(d dice, length time.Duration) {
	pace := pick(d, time.Second, 3*time.Second, 8*time.Second)
	for at := d.between(0, pace); at < length; at += d.between(pace/4, 2*pace) {
		for range 1 + d.IntN(5) {
			w := put
			if d.oneIn(8) {
				w = remove
			}
			s.add(at, w, d.IntN(s.Keys), 0)
			at += d.between(0, 200*time.Millisecond)
		}
	}
}

// reshape moves the stream's shards, and what hangs on them.
func (s *script) reshape(d dice, length time.Duration) {
	for range d.IntN(8) {
		at := d.between(0, length)
		s.add(at, pick(d, rotate, rotate, rotates, split), d.IntN(16), 0)
		// In the thick of it: a key written just before and just after.
		k := d.IntN(s.Keys)
		s.add(at-time.Millisecond, put, k, 0)
		s.add(at+time.Millisecond, put, k, 0)
	}
	for range d.IntN(3) {
		s.add(d.between(0, length), expire, 0, 0)
	}
	for range d.IntN(3) {
		at := d.between(0, length)
		s.add(at, cut, 0, 0)
		s.add(at+d.between(time.Second, 40*time.Second), heal, 0, 0)
	}
}

// merge has dice of its own, as replace has, so that worlds without either stay
// what they were.
func (s *script) merge(length time.Duration) {
	d := chance(s.Seed).of("merge")
	if s.Merges = d.oneIn(3); !s.Merges {
		return
	}
	for range 1 + d.IntN(4) {
		at, k := d.between(0, length), d.IntN(s.Keys)
		s.add(at-time.Millisecond, put, k, 0)
		s.add(at, merge, d.IntN(16), 0)
		s.add(at+time.Millisecond, put, k, 0)
	}
}

// replace disables the stream and enables it again, at once or after a while in
// which what is written is in no stream. Where there is a backfill, often while that
// still runs.
func (s *script) replace(length time.Duration) {
	d := chance(s.Seed).of("replace")
	if !d.oneIn(3) {
		return
	}
	for range 1 + d.IntN(2) {
		at, k := d.between(0, length), d.IntN(s.Keys)
		if s.Backfill && d.oneIn(2) {
			at = d.between(0, 30*time.Second)
		}
		s.add(at-time.Millisecond, put, k, 0)
		s.add(at, disable, 0, 0)
		if d.oneIn(2) {
			hole := d.between(time.Millisecond, 20*time.Second)
			s.add(at+hole/2, put, k, 0)
			at += hole
		}
		s.add(at, enable, d.IntN(2), d.between(10*time.Millisecond, 20*time.Second))
		s.add(at+time.Millisecond, put, k, 0)
	}
}

// failover gives a pipeline that reads a stream alone a second region, and goes there,
// and perhaps back.
func (s *script) failover(length time.Duration) {
	d := chance(s.Seed).of("failover")
	replaced := slices.ContainsFunc(s.Actions, func(a action) bool { return a.What == disable })
	if s.Failover = !s.Backfill && s.Retention > time.Hour && !replaced && d.oneIn(2); !s.Failover {
		return
	}
	s.Lag = pick(d, 500*time.Millisecond, 5*time.Second, 20*time.Second)
	s.Skew = pick(d, 0, d.between(-5*time.Second, -2*time.Second), d.between(2*time.Second, 5*time.Second))
	s.Margin = (s.Lag + max(s.Skew, -s.Skew) + time.Second).Truncate(time.Second) + time.Second
	for i := range s.Actions {
		switch s.Actions[i].What {
		case rotate, rotates, split, merge:
			s.Actions[i].N += 16 * d.IntN(2) // in which region
		}
	}
	for range 1 + d.IntN(3) {
		at, k := d.between(0, length), d.IntN(s.Keys)
		s.add(at-time.Millisecond, put, k, 0)
		s.add(at, failover, d.IntN(4), d.between(10*time.Millisecond, 20*time.Second))
		s.add(at+time.Millisecond, put, k, 0)
	}
}

// operate treats the workers badly.
func (s *script) operate(d dice, length time.Duration) {
	at := d.between(0, 30*time.Second)
	for at < length {
		down := d.between(10*time.Millisecond, 20*time.Second)
		if s.Retention < time.Hour && d.oneIn(2) {
			down = d.between(s.Retention/2, 2*s.Retention)
		}
		switch d.IntN(9) {
		case 0, 1, 2, 3:
			s.add(at, kill, 0, down)
		case 4:
			s.add(at, drain, 0, down)
		case 5:
			if s.Backfill {
				s.add(at, again, d.IntN(2), down)
			}
		default: // frozen, replaced, revived as a zombie
			s.add(at, freeze, 0, down)
			thawed := at + d.between(time.Second, 40*time.Second)
			s.add(thawed, thaw, 0, 0)
			s.add(thawed+d.between(time.Second, minute), bury, 0, 0)
		}
		at += down + d.between(time.Second, length/3)
	}
}

// String is the script in full: the bytes that a seed reproduces.
func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d keys %d shards %d rows %d backfill %t overlap %t relaxed %t start %s fresh %t by-time %t retention %v rotate %v "+
		"faults %g store %g maimed %g inconsistent %g empty %g failover %t lag %v skew %v margin %v\n", s.Seed, s.Keys, s.Shards, s.Rows, s.Backfill, s.Overlap, s.Relaxed, s.Start,
		s.Fresh, s.ByTime, s.Retention, s.RotateEvery, s.Faults, s.StoreFaults, s.Maimed, s.Inconsistent, s.EmptyPages, s.Failover, s.Lag, s.Skew, s.Margin)
	for i, a := range s.Actions {
		fmt.Fprintf(&b, "%v %s %d %v\n", a.At, a.What, a.N, a.For)
		if i < 8 {
			fmt.Fprintf(&b, "attempt %d: %+v\n", i, s.settings(i))
		}
	}
	return b.String()
}

func (s script) hash() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s.String())))[:16] }

// settings are what an operator chose for one attempt.
type settings struct {
	Interval    time.Duration
	EveryWeight int64
	Parallel    int
	Segments    int
	Limit       int32
	InFlight    int
	Order       shards.Order
	Start       checkpoint.Start // of worlds without a backfill: only the first one counts
	ByTime      bool
	MaxRecords  int64
	PageLimit   int32
	Poll        time.Duration
	Stop        bool // at a gap
	Nack        backfill.NackPolicy
	Redeliver   bool
	// The sink.
	Batch  int // batches flushed together
	Linger time.Duration
	Slow   time.Duration // the longest delivery
	Refuse int           // one delivery in so many fails first; 0: none
}

// settings of the n-th attempt.
func (s script) settings(n int) settings {
	d := chance(s.Seed).of("settings", n)
	t := settings{
		Interval:   pick(d, 0, 200*time.Millisecond, time.Second, 5*time.Second),
		Parallel:   4 + d.IntN(12),
		Segments:   1 + d.IntN(5),
		Limit:      int32(1 + d.IntN(6)),
		InFlight:   1 + d.IntN(8),
		MaxRecords: pick(d, int64(0), 3, 20),
		PageLimit:  pick(d, int32(0), 1, 3, 10),
		Poll:       pick(d, 200*time.Millisecond, time.Second),
		Stop:       d.oneIn(4),
		Nack:       pick(d, backfill.Pin, backfill.Pin, backfill.Fail),
		Redeliver:  d.oneIn(4),
		Batch:      pick(d, 1, 1, 3, 6),
		Linger:     pick(d, 100*time.Millisecond, 2*time.Second, 10*time.Second),
		Slow:       pick(d, 10*time.Millisecond, time.Second, 15*time.Second),
		Refuse:     pick(d, 0, 4, 20),
	}
	if d.oneIn(4) {
		t.EveryWeight = int64(1 + d.IntN(10))
	}
	if s.Relaxed && d.oneIn(2) {
		t.Order = shards.Relaxed
	}
	if t.Start, t.ByTime = s.Start, s.ByTime; n > 0 {
		d = chance(s.Seed).of("start", n)
		t.Start, t.ByTime = pick(d, checkpoint.StartLatest, checkpoint.StartTrimHorizon), d.oneIn(3)
	}
	return t
}

// calm are the settings of the last attempt.
func (s script) calm() settings {
	return settings{Interval: time.Second, Parallel: 16, Start: s.Start, ByTime: s.ByTime, Segments: 3, Limit: 50, Poll: 200 * time.Millisecond, Batch: 1, Linger: time.Second, Slow: time.Second}
}
