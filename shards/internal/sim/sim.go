// Package sim runs a pipeline over a simulated stream for weeks of virtual
// time: shards rotate, calls fail, the store goes down, the sink acks late, out
// of order and not at once, the process crashes. An oracle that knows every
// record counts what must never happen. It runs inside a testing/synctest
// bubble.
package sim

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Config says what is simulated. A zero field takes its default.
type Config struct {
	Seed       uint64
	Shards     int           // open at once; default 100
	Duration   time.Duration // default 30 days
	WriteEvery time.Duration // default 40 minutes
	Burst      int           // records a write; default Shards
	CrashEvery time.Duration // on average; default 12 hours
	Calm       bool          // the last two thirds are one attempt's
	Order      shards.Order
	Faults     float64       // share of calls that fail, of the store's too; default 0.02
	IdlePoll   time.Duration // default 10 minutes
	Discovery  time.Duration // default 10 minutes
	// DescribeRate is the limit of DescribeStream calls a second; default the reader's.
	DescribeRate float64
	Reshape      bool      // split now and then, on top of rotating
	OnDay        func(Day) // told at the end of every virtual day
}

// most is how many shards may be open once some were split. Streams have no
// merges that a reader could see, so it must be reached in days for memory to be
// flat.
func (c *Config) most() int { return c.Shards + max(min(c.Shards, 5), c.Shards/20) }

func (c *Config) setDefaults() {
	def(&c.Shards, 25)
	def(&c.Duration, 30*24*time.Hour)
	def(&c.WriteEvery, 40*time.Minute)
	def(&c.Burst, c.Shards)
	def(&c.CrashEvery, 12*time.Hour)
	def(&c.Faults, 0.02)
	def(&c.IdlePoll, 10*time.Minute)
	def(&c.Discovery, 10*time.Minute)
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

const (
	table    = "orders"
	pipeline = "orders-to-sink"
)

// simulation is one run of Run.
type simulation struct {
	cfg     Config
	rng     *rand.Rand
	service *streamtest.Service
	store   *store
	oracle  *oracle
	report  Report

	origin  checkpoint.Origin
	fresh   *checkpoint.Freshness
	attempt *attempt
	version map[string]int
}

// Run simulates. It must be called in a synctest bubble.
func Run(cfg Config) Report {
	cfg.setDefaults()
	s := &simulation{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), version: map[string]int{}}
	s.service = streamtest.New(streamtest.Config{
		Seed:          cfg.Seed,
		RotateEvery:   streamtest.RotationInterval,
		RotateSpread:  time.Hour,
		Inconsistency: streamtest.Inconsistency{Window: 30 * time.Second, Chance: 0.3, EmptyPages: 0.1},
		EmptyPages:    0.05,
	})
	s.store = &store{Memory: checkpoint.NewMemory(), rng: rand.New(rand.NewPCG(cfg.Seed, 2)), share: cfg.Faults}
	s.oracle = newOracle()
	if err := s.service.CreateTable(streamtest.Table{Name: table, Hash: "id", View: types.StreamViewTypeNewImage, Shards: cfg.Shards}); err != nil {
		return Report{Err: err}
	}
	s.faults(true)
	s.run()
	return s.report
}

func (s *simulation) faults(on bool) {
	if !on {
		s.service.SetFaults(nil)
		s.store.fail(0)
		return
	}
	f := s.cfg.Faults / 5
	s.service.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: f, LimitExceeded: f, Internal: f, Cut: f, LostAnswer: f}})
	s.store.fail(s.cfg.Faults)
}

func (s *simulation) run() {
	began := time.Now()
	defer func() { s.attempt.end() }()
	if !s.start(true) {
		return
	}
	// The pipeline starts at LATEST: what is written from here on is owed.
	<-s.attempt.reader.Positioned()
	crash := s.soon()
	for time.Since(began) < s.cfg.Duration {
		s.write()
		time.Sleep(s.cfg.WriteEvery*3/4 + time.Duration(s.rng.Int64N(int64(s.cfg.WriteEvery)/2)))
		s.oracle.learn(s.service.Shards(table))
		if s.rng.IntN(10) == 0 { // a rotation in the thick of it
			s.write()
			s.reshape()
			s.write()
			s.oracle.learn(s.service.Shards(table))
		}
		if s.rng.IntN(50) == 0 { // an outage of the store, some minutes long
			s.store.down(time.Now().Add(time.Duration(s.rng.Int64N(int64(20 * time.Minute)))))
		}
		if s.rng.IntN(100) == 0 {
			s.service.ExpireIterators()
		}
		if time.Now().After(crash) && (!s.cfg.Calm || time.Since(began) < s.cfg.Duration/3) {
			s.write()
			s.inFlight()
			if !s.restart() {
				return
			}
			crash = s.soon()
		}
		// An attempt that has only begun does not know all shards yet.
		if s.attempt.age() > s.cfg.WriteEvery/2 && time.Since(began) > time.Duration(len(s.report.Days)+1)*24*time.Hour {
			s.endOfDay()
		}
	}
	if s.weigh() {
		s.finish()
		s.report.Lasted = time.Since(began)
	}
}

// finish lets a calm attempt read what is left, and counts.
func (s *simulation) finish() {
	s.faults(false)
	for range 100 {
		time.Sleep(10 * time.Minute)
		if s.oracle.lost() == 0 || s.attempt.err() != nil {
			break
		}
	}
	list := s.service.Shards(table)
	s.oracle.learn(list)
	s.report.Open = open(list)
	s.judge()
	o := s.oracle
	o.mu.Lock()
	defer o.mu.Unlock()
	s.report.Records, s.report.Settled, s.report.Repeated = o.written, o.settled, o.repeated
	s.report.Lost = o.written - o.settled
	s.report.EarlyChildren, s.report.OutOfOrder = o.early, o.disorder
	s.report.OnResume, s.report.Gaps = o.latest, o.gaps
	s.report.Shards, s.report.Longest = o.seen, o.longest
	calls := s.service.Calls()
	s.report.GetRecords, s.report.DescribeStream = int(calls["GetRecords"].Calls), int(calls["DescribeStream"].Calls)
	s.report.GetPeak, s.report.DescribePeak = calls["GetRecords"].PeakRate, calls["DescribeStream"].PeakRate
	s.report.OverLimit = int(calls["GetRecords"].OverLimit + calls["DescribeStream"].OverLimit)
}

// inFlight waits until the sink holds something that it did not ack, and a little more.
func (s *simulation) inFlight() {
	for end := time.Now().Add(s.cfg.IdlePoll); time.Now().Before(end) && s.attempt.reader.Health().InFlight == 0; {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(s.rng.Int64N(int64(10 * time.Second))))
}

func (s *simulation) soon() time.Time {
	return time.Now().Add(s.cfg.CrashEvery/2 + time.Duration(s.rng.Int64N(int64(s.cfg.CrashEvery))))
}

// start begins an attempt, as a program does.
func (s *simulation) start(first bool) bool {
	ctx := context.Background()
	o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Now(), Source: s.service.StreamARN(table)}
	var err error
	for range 1000 { // the store may be down
		if s.origin, s.fresh, err = checkpoint.Begin(ctx, s.store, pipeline, o); err == nil {
			break
		}
		time.Sleep(10 * time.Second)
	}
	if err == nil {
		s.attempt, err = s.newAttempt(first)
	}
	if err != nil {
		s.report.Err = err
	}
	return err == nil
}

// restart ends an attempt, mostly by a crash, and begins the next after a while.
func (s *simulation) restart() bool {
	if err := s.attempt.err(); err != nil {
		s.report.Err = err
		return false
	}
	if s.rng.IntN(4) > 0 {
		s.report.Crashes++
		s.attempt.crash()
	} else {
		s.report.Stops++
		s.attempt.drain()
	}
	s.judge()
	return s.resume()
}

func (s *simulation) resume() bool {
	time.Sleep(time.Duration(s.rng.Int64N(int64(time.Hour))))
	return s.start(false)
}

func (s *simulation) newAttempt(first bool) (*attempt, error) {
	a := &attempt{s: s, first: first, began: time.Now(), done: make(chan struct{})}
	a.committer = checkpoint.NewCommitter(s.store, pipeline, checkpoint.Interval(5*time.Second), checkpoint.Logger(slog.New(slog.DiscardHandler)))
	var err error
	a.reader, err = streamreader.New(streamreader.Config{
		Client:       &client{Streams: s.service.Streams(), attempt: a},
		StreamARN:    s.service.StreamARN(table),
		Committer:    a.committer,
		Origin:       s.origin,
		Fresh:        s.fresh,
		Order:        s.cfg.Order,
		IdlePoll:     s.cfg.IdlePoll,
		Discovery:    s.cfg.Discovery,
		DescribeRate: s.cfg.DescribeRate,
		GiveUp:       6 * time.Hour,
		OnGap:        func(shards.Gap) { s.oracle.gap() },
	})
	if err != nil {
		return nil, err
	}
	s.oracle.begin(s.cfg.Order == shards.Strict)
	go a.consume()
	return a, nil
}

func (s *simulation) write() {
	for range s.cfg.Burst {
		key := "k" + strconv.Itoa(s.rng.IntN(5*s.cfg.Shards))
		s.version[key]++
		v := s.version[key]
		c, err := s.service.Put(table, streamtest.Item{
			"id": &types.AttributeValueMemberS{Value: key},
			"v":  &types.AttributeValueMemberN{Value: strconv.Itoa(v)},
		})
		if err != nil {
			s.report.Err = err
			return
		}
		s.oracle.wrote(c)
	}
}

// reshape closes a tenth of the open shards, and opens one child for each, or
// by option now and then two.
func (s *simulation) reshape() {
	var ids []string
	for _, sh := range s.service.Shards(table) {
		if sh.Closed.IsZero() {
			ids = append(ids, sh.ID)
		}
	}
	for range max(1, s.cfg.Shards/10) {
		id := ids[s.rng.IntN(len(ids))]
		if s.cfg.Reshape && len(ids) < s.cfg.most() && s.rng.IntN(10) == 0 {
			_, _ = s.service.Split(table, id)
		} else {
			_, _ = s.service.RotateShard(table, id)
		}
	}
}

func open(list []streamtest.Shard) (n int) {
	for _, sh := range list {
		if sh.Closed.IsZero() {
			n++
		}
	}
	return n
}

func (s *simulation) rows() (n int) {
	for range s.store.Memory.List(context.Background(), pipeline, "") {
		n++
	}
	return n
}

// judge holds what is durable against what was settled.
func (s *simulation) judge() {
	for row, err := range s.store.Memory.List(context.Background(), pipeline, "stream/") {
		if err != nil {
			s.report.Err = err
			return
		}
		if s.oracle.ahead(row) {
			s.report.DurableAhead++
		}
	}
}
