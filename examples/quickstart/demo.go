package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

const pipeline = "orders-to-file"

// demo is one run, as its flags say it.
type demo struct {
	items, changes, kills int
	seed                  uint64
	during, limit         time.Duration
	dir                   string

	temporary bool // dir is ours, and is removed after a success
	url       string
	service   *streamtest.Service
	writers   *writers
	watcher   *watcher
	output    *output
	killed    map[bool]int // by whether the stream had begun
	unclean   error        // how the last process failed to end by itself
}

func (d *demo) outFile() string { return filepath.Join(d.dir, "orders.jsonl") }
func (d *demo) logFile() string { return filepath.Join(d.dir, "pipeline.log") }

// earlyChanges are made before the pipeline starts: the stream holds them, and
// only the backfill owes what they left behind.
const earlyChanges = 200

func (d *demo) run(ctx context.Context) (bool, error) {
	if d.items < 100 || d.changes < 1000 || d.kills < 4 {
		return false, errors.New("too little to show: give at least -items 100 -changes 1000 -kills 4")
	}
	if err := d.prepare(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("not finished within %s: see %s", d.limit, d.dir))
	defer cancel()
	server, err := d.service.Serve()
	if err != nil {
		return false, err
	}
	defer server.Close()
	d.url = server.URL()
	fmt.Fprintf(os.Stderr, "demo: seed %d; the pipeline's output and log are in %s\n", d.seed, d.dir)

	d.writers.run(ctx, earlyChanges, d.items, 0, "early", d.random)
	places, err := scanOrder(ctx, d.service)
	if err != nil {
		return false, err
	}
	d.service.Advance(2 * time.Second)
	if err := d.kill(ctx, cancel); err != nil {
		return false, err
	}
	ok, err := d.conclude(places)
	if ok && d.temporary {
		err = os.RemoveAll(d.dir)
	}
	return ok, err
}

func (d *demo) prepare() error {
	if d.dir == "" {
		dir, err := os.MkdirTemp("", "ackgate-quickstart-")
		if err != nil {
			return err
		}
		d.dir, d.temporary = dir, true
	} else if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(d.outFile()); err == nil {
		return fmt.Errorf("%s holds an earlier run: give another -dir", d.dir)
	}
	var err error
	if d.service, err = newTable(d.seed, d.items); err != nil {
		return err
	}
	d.writers = &writers{service: d.service}
	d.watcher = &watcher{
		store:    dynamostore.New(dynamodb.NewFromConfig(d.service.AWSConfig()), checkpointTable),
		pipeline: pipeline, output: d.outFile(), seen: map[string]checkpoint.Checkpoint{},
	}
	d.output = newOutput(d.outFile())
	d.killed = map[bool]int{}
	return nil
}

// kill runs the pipeline beside the writers, kills it at the planned points,
// and returns once it has delivered everything or stands still.
func (d *demo) kill(ctx context.Context, cancel context.CancelFunc) error {
	background := newBackground(cancel)
	defer background.stop()
	writing, stopWriting := context.WithCancel(ctx)
	background.run(func() error {
		defer stopWriting()
		d.writers.run(ctx, d.changes-earlyChanges, d.items, d.during, "late", d.random)
		return nil
	})
	background.run(func() error { return reshard(writing, d.service, d.random(1)) })
	background.run(func() error { return d.watcher.run(ctx) })

	r := d.random(2)
	points := killPoints(r, d.kills, d.items, d.changes-earlyChanges)
	for i := 0; ; i++ {
		c, err := d.start()
		if err != nil {
			return err
		}
		defer c.kill()
		last := i == len(points)
		before, rows := len(d.output.lines), d.watcher.count()
		d.output.grew = time.Now() // a new process, new patience
		for {
			if err := d.pause(ctx, c); err != nil {
				return errors.Join(background.failure(), err)
			}
			if err := d.output.read(); err != nil {
				return err
			}
			// A process that raised no fence yet may not even know signals yet.
			if last && writing.Err() != nil && d.finished() && d.watcher.count() > rows {
				d.unclean = c.stop(ctx)
				return background.failure()
			}
			// A process is killed in the middle of work of its own.
			working := len(d.output.lines) > before
			if !last && (working && d.reached(points[i]) || d.output.idle() > patience) {
				break
			}
		}
		// Anywhere in the cycle of read, fsync and save, which the poll above
		// would otherwise always meet just after an fsync.
		time.Sleep(time.Duration(r.Int64N(int64(cycle))))
		c.kill()
		if err := d.note(ctx, i+1); err != nil {
			return err
		}
	}
}

// cycle is a little more than the pipeline takes from read to fsync.
const cycle = 170 * time.Millisecond

// patience is how long the output may stand still before the demo goes on.
const patience = 8 * time.Second

// pause waits a moment, for nothing longer than the pipeline lives.
func (d *demo) pause(ctx context.Context, c *child) error {
	select {
	case <-time.After(lookEvery):
		return nil
	case <-c.exited:
		return fmt.Errorf("the pipeline ended by itself: %w\n%s", c.err, d.lastWords())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// killPoint is how much must have been delivered before a kill.
type killPoint struct{ rows, changes int }

// killPoints spreads the kills over both phases, a random point in each of as
// many stretches, and leaves the last stretch of each phase alone.
func killPoints(r *rand.Rand, kills, items, changes int) []killPoint {
	inBackfill := kills / 2
	var points []killPoint
	for i := range inBackfill {
		points = append(points, killPoint{rows: within(r, i, inBackfill, items)})
	}
	for i := range kills - inBackfill {
		points = append(points, killPoint{changes: within(r, i, kills-inBackfill, changes)})
	}
	return points
}

func within(r *rand.Rand, i, n, total int) int {
	stretch := float64(total) / float64(n+1)
	return int(stretch * (float64(i) + 0.1 + 0.9*r.Float64()))
}

func (d *demo) reached(p killPoint) bool {
	return d.output.rows() >= p.rows && d.output.changes() >= p.changes
}

// note tells of a kill, and in which phase it hit.
func (d *demo) note(ctx context.Context, n int) error {
	if err := d.watcher.look(ctx); err != nil {
		return err
	}
	if err := d.output.read(); err != nil {
		return err
	}
	streaming, _, err := d.watcher.state()
	d.killed[streaming]++
	phase := "backfill"
	if streaming {
		phase = "stream"
	}
	fmt.Fprintf(os.Stderr, "demo: kill %d in the %s, with %d rows and %d changes delivered\n", n, phase, d.output.rows(), d.output.changes())
	return err
}

// finished reports whether all that is owed was delivered, or nothing comes any more.
func (d *demo) finished() bool {
	log, _ := d.writers.snapshot()
	_, origin, _ := d.watcher.state()
	return d.output.holds(log, origin) || d.output.idle() > patience
}

func (d *demo) conclude(places map[string]place) (bool, error) {
	if err := d.watcher.look(context.Background()); err != nil {
		return false, err
	}
	if err := d.output.read(); err != nil {
		return false, err
	}
	log, err := d.writers.snapshot()
	if err != nil {
		return false, err
	}
	h := history{seeds: places, writes: log, final: map[string]string{}, lines: d.output.lines, observed: d.watcher.observed}
	if _, h.origin, err = d.watcher.state(); err != nil {
		return false, err
	}
	for _, item := range d.service.Items(tableName) {
		h.final[text(item["id"])] = text(item["version"])
	}
	v := judge(h)
	for _, e := range v.examples {
		fmt.Fprintln(os.Stderr, "demo:", e)
	}
	if v.early+v.disorder > 0 {
		fmt.Fprintf(os.Stderr, "demo: checkpoints ahead of delivery %d, changes out of order %d\n", v.early, v.disorder)
	}
	enough := d.killed[false] >= 2 && d.killed[true] >= 2
	if !enough {
		fmt.Fprintf(os.Stderr, "demo: only %d kills hit the backfill and %d the stream: this run shows too little\n", d.killed[false], d.killed[true])
	}
	if d.unclean != nil {
		fmt.Fprintln(os.Stderr, "demo:", d.unclean)
	}
	fmt.Printf("demo: items %d changes %d kills %d lost %d duplicates %d checkpoint-regressions %d\n",
		d.items, d.changes, d.killed[false]+d.killed[true], v.lost, v.duplicates, v.regressions)
	return v.ok() && enough && d.unclean == nil, nil
}
