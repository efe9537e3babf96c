//go:build integration

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/ackgate/ackgate/integration/servers"
)

type config struct {
	minutes float64
	items   int
	rate    int
	seed    uint64
	binary  string
	dir     string
}

// soak is one run.
type soak struct {
	config
	log     io.Writer
	env     []string
	table   *table
	proxy   *proxy
	output  *output
	watcher *watcher
	random  *rand.Rand

	now      *life
	kills    int
	inScan   int            // kills before the stream
	restarts map[string]int // lives that ended by themselves, by their last words
}

// report is the outcome of a run.
type report struct {
	config
	verdict
	usage
	changes, kills, faults int
}

func (r report) ok() bool {
	return r.verdict.ok() && r.descriptors() != "growing" && r.memory() != "growing"
}

func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "soak: minutes %s items %d changes %d kills %d faults %d lost %d regressions %d fds %s memory %s\n",
		strconv.FormatFloat(r.minutes, 'g', -1, 64), r.items, r.changes, r.kills, r.faults, r.lost, r.regressions, r.descriptors(), r.memory())
}

func (c config) stream(n uint64) *rand.Rand { return rand.New(rand.NewPCG(c.seed, n)) }

func (c config) share(of float64) time.Duration {
	return time.Duration(c.minutes * of * float64(time.Minute))
}

func run(ctx context.Context, c config, log io.Writer) (report, error) {
	if c.minutes <= 0 || c.rate < writers || c.items < 0 {
		return report{}, errors.New("-minutes and -rate must be positive")
	}
	if c.items == 0 {
		c.items = min(max(int(c.minutes*1000), 400), 3000)
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "soak-")
		if err != nil {
			return report{}, err
		}
		defer os.RemoveAll(dir)
		c.dir = dir
	}
	built := make(chan error, 1)
	go func() { // while the server starts, which takes as long
		var err error
		if c.binary == "" {
			c.binary, err = build(c.dir)
		}
		built <- err
	}()
	server, err := servers.StartMoto(ctx)
	if err := errors.Join(err, <-built); err != nil {
		return report{}, err
	}
	defer server.Stop()
	proxy, err := startProxy(server.URL, c.stream(1))
	if err != nil {
		return report{}, err
	}
	defer proxy.close()
	table, err := newTable(ctx, server.DynamoDB(), c.items)
	if err != nil {
		return report{}, fmt.Errorf("make the table: %w", err)
	}
	out := filepath.Join(c.dir, "orders.jsonl")
	s := &soak{
		config: c, log: log, table: table, proxy: proxy, output: newOutput(out), random: c.stream(2), restarts: map[string]int{},
		watcher: &watcher{client: server.DynamoDB(), output: out, seen: map[string]row{}},
		env: environment(proxy.url, c.dir, "AWS_REGION="+servers.Region,
			"AWS_ACCESS_KEY_ID="+servers.AccessKey, "AWS_SECRET_ACCESS_KEY="+servers.SecretKey),
	}
	fmt.Fprintf(log, "soak: seed %d, output %s\n", c.seed, out)
	return s.run(ctx)
}

// run has three acts: kills, a long life without, and peace in which what is
// owed arrives.
func (s *soak) run(ctx context.Context) (report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching, stopWatching := context.WithCancel(ctx)
	watched := background(cancel, func() error { return s.watcher.run(watching) })
	defer func() { stopWatching(); <-watched }()
	defer func() {
		if s.now != nil {
			s.now.kill()
		}
	}()

	if err := s.until(ctx, "the backfill's plan", 2*time.Minute, func() bool { planned, _ := s.watcher.state(); return planned }); err != nil {
		return report{}, err
	}
	writing, stopWriting := context.WithCancel(ctx)
	written := background(cancel, func() error { return s.table.write(writing, s.rate, s.stream) })
	defer func() { stopWriting(); <-written }()

	if err := s.killing(ctx, s.share(0.5)); err != nil {
		return report{}, err
	}
	// What a life uses is compared within the stream: a scan uses other things.
	if err := s.until(ctx, "the stream", 2*time.Minute, func() bool { _, streaming := s.watcher.state(); return streaming }); err != nil {
		return report{}, err
	}
	short, err := s.live(ctx, max(s.share(0.05), 2*time.Second))
	if err != nil {
		return report{}, err
	}
	goroutines := short.goroutines()
	long, err := s.live(ctx, s.share(0.45))
	if err != nil {
		return report{}, err
	}
	stopWriting()
	<-written
	atTheEnd := long.goroutines()
	use := usageOf(long)
	use.goroutinesOfShort, use.goroutinesAtTheEnd = goroutines, atTheEnd

	s.proxy.heal()
	if err := s.settle(ctx); err != nil {
		return report{}, err
	}
	stopWatching()
	<-watched
	if err := context.Cause(ctx); err != nil {
		return report{}, err
	}
	return s.report(ctx, use)
}

// background runs f, whose error ends the run.
func background(cancel context.CancelCauseFunc, f func() error) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(); err != nil {
			cancel(err)
		}
	}()
	return done
}

// keep makes sure that a process runs, as a supervisor would: with faults
// everywhere one may end by itself, and says why.
func (s *soak) keep() error {
	if s.now != nil && s.now.alive() {
		return nil
	}
	if s.now != nil {
		s.restarts[s.now.lastWords()]++
	}
	var err error
	s.now, err = start(s.binary, s.env, []string{
		"-table", tableName, "-pipeline", pipeline, "-checkpoint-table", checkpointTable, "-out", s.output.path,
		"-page-size", "10", "-discovery", "1s", "-progress", "1s",
		// A slow output, and commits that are quicker: a position that ran ahead of
		// the lines would be durable while they are not written.
		"-commit-interval", "50ms", "-linger", "150ms",
	})
	return err
}

const pollEvery = 20 * time.Millisecond

// pass waits a moment, keeps the program running, and reads what it wrote.
func (s *soak) pass(ctx context.Context) error {
	if err := s.keep(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollEvery):
	}
	return s.output.read()
}

func (s *soak) until(ctx context.Context, what string, limit time.Duration, holds func() bool) error {
	for deadline := time.Now().Add(limit); !holds(); {
		if err := s.pass(ctx); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not come about within %s; ddbcdc said: %s", what, limit, s.now.stderr.String())
		}
	}
	return nil
}

// killing lasts for the time given. Every other kill waits until this process
// has delivered something: those hit work in flight.
func (s *soak) killing(ctx context.Context, during time.Duration) error {
	end := time.Now().Add(during)
	for time.Now().Before(end) {
		at := time.Now().Add(200*time.Millisecond + time.Duration(s.random.IntN(4000))*time.Millisecond)
		delivered := s.random.IntN(2) == 0
		size := s.output.size
		for time.Now().Before(end) && (time.Now().Before(at) && !delivered || delivered && s.output.size == size) {
			if err := s.pass(ctx); err != nil {
				return err
			}
		}
		if delivered {
			time.Sleep(time.Duration(s.random.IntN(80)) * time.Millisecond) // anywhere between two commits
		}
		_, streaming := s.watcher.state()
		if s.now.kill() {
			s.kills++
			if !streaming {
				s.inScan++
			}
			s.now = nil
		}
	}
	return nil
}

// live lets one process run for the time given. One that ends by itself, fenced
// by a claim that came late, is followed by another, which gets the time anew.
func (s *soak) live(ctx context.Context, during time.Duration) (*life, error) {
	if err := s.keep(); err != nil {
		return nil, err
	}
	for tries := 0; ; {
		l := s.now
		if time.Since(l.began) >= during {
			s.now = nil
			return l, nil
		}
		if err := s.pass(ctx); err != nil {
			return nil, err
		}
		if l != s.now {
			if tries++; tries == 20 {
				return nil, fmt.Errorf("no process of ddbcdc lived for %s: %v", during, s.restarts)
			}
		}
	}
}

// silence is how long nothing may come before what is missing counts as lost.
const silence = 20 * time.Second

// settle waits for what is owed, and ends the program gracefully.
func (s *soak) settle(ctx context.Context) error {
	s.output.grew = time.Now()
	log := s.table.written()
	for {
		_, streaming := s.watcher.state()
		if s.output.holds(log) && streaming || time.Since(s.output.grew) > silence {
			break
		}
		if err := s.pass(ctx); err != nil {
			return err
		}
	}
	if s.now == nil {
		return nil
	}
	last := s.now
	s.now = nil
	if alive := last.end(syscall.SIGTERM, 30*time.Second); !alive || last.cmd.ProcessState.ExitCode() != 0 {
		return fmt.Errorf("ddbcdc did not end on SIGTERM as it should: %s", last.lastWords())
	}
	return s.output.read()
}

func (s *soak) report(ctx context.Context, use usage) (report, error) {
	final, err := s.table.final(ctx)
	if err != nil {
		return report{}, err
	}
	observed := s.watcher.history()
	r := report{config: s.config, usage: use, changes: len(s.table.written()), kills: s.kills}
	r.verdict = judge(history{s.items, s.table.written(), final, s.output, observed})
	var kinds string
	r.faults, kinds = s.proxy.total()
	fmt.Fprintf(s.log, "soak: faults:%s\n", kinds)
	for words, n := range s.restarts {
		fmt.Fprintf(s.log, "soak: ended by itself %d times: %s\n", n, words)
	}
	fmt.Fprintf(s.log, "soak: delivered %d lines, %d of them again; %d kills in the backfill, %d in the stream; %d states of rows seen\n",
		s.output.lines, s.output.lines-len(s.output.rows)-len(s.output.changes), s.inScan, s.kills-s.inScan, len(observed))
	fmt.Fprintf(s.log, "soak: ahead %d out-of-order %d unknown %d\n", r.ahead, r.disorder, r.unknown)
	fmt.Fprintf(s.log, "soak: a life of %s: descriptors %s; memory KiB %s; threads %s; goroutines %d, after seconds %d\n",
		use.lasted.Round(time.Second), use.fds, use.rss, use.threads, use.goroutinesAtTheEnd, use.goroutinesOfShort)
	for _, what := range r.examples {
		fmt.Fprintf(s.log, "soak: %s\n", what)
	}
	return r, nil
}
