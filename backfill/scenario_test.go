package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// TestScenarios plays what went wrong elsewhere, as text: each file under
// testdata/scenarios begins with what happened in the world.
//
//	world keys=N                 a new world and store
//	write key=K                  a change of a key
//	attempt [segments=N] [page=N] [restart=WORD] [nack=pin|fail|discard]
//	        [retention=D] [overlap] [redeliver=N] [hook=fail]
//	read [n=N] [for=D]           reads N times; batches get letters: a, b, …
//	ack BATCH… / nack BATCH… / discard BATCH…
//	sleep for=D
//	die                          the process is killed: nothing is saved any more
//	stop                         Stop and Close
//	hook ok                      lets a failing hook succeed from now on
//	rows                         what is durable
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		bubble(t, func(t *testing.T) {
			sc := &scenario{t: t}
			defer func() {
				if sc.a != nil {
					sc.a.finish(true)
				}
			}()
			datadriven.RunTest(t, path, sc.run)
		})
	})
}

type scenario struct {
	t       *testing.T
	s       *sim
	a       *attempt
	named   []*handed
	hookBad bool

	mu  sync.Mutex // the hook notes from its own goroutine
	log []string
}

func (sc *scenario) run(t *testing.T, d *datadriven.TestData) string {
	sc.mu.Lock()
	sc.log = nil
	sc.mu.Unlock()
	switch d.Cmd {
	case "world":
		keys := 0
		d.ScanArgs(t, "keys", &keys)
		sc.s = calm(keys)
	case "write":
		key := 0
		d.ScanArgs(t, "key", &key)
		sc.s.w.write(key)
	case "attempt":
		sc.attempt(d)
	case "read":
		sc.read(d)
	case "ack":
		sc.settle(d, func(*handed) error { return nil })
	case "nack":
		sc.settle(d, func(*handed) error { return errors.New("refused") })
	case "discard":
		sc.settle(d, func(*handed) error { return Discard(nil) })
	case "sleep":
		time.Sleep(duration(t, d, "for", 0))
	case "die":
		sc.a.die()
		sc.a = nil
	case "stop":
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		sc.note("close: %v", sc.a.r.Close(ctx))
		_ = sc.a.c.Close(ctx)
		cancel()
		sc.a = nil
	case "hook":
		sc.hookBad = !d.HasArg("ok")
	case "rows":
		return sc.rows()
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	if sc.a != nil {
		sc.note("phase %s", sc.a.r.Phase())
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.log) == 0 {
		return ""
	}
	return strings.Join(sc.log, "\n") + "\n"
}

func (sc *scenario) note(format string, args ...any) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.log = append(sc.log, fmt.Sprintf(format, args...))
}

func duration(t *testing.T, d *datadriven.TestData, arg string, def time.Duration) time.Duration {
	if !d.HasArg(arg) {
		return def
	}
	var s string
	d.ScanArgs(t, arg, &s)
	v, err := time.ParseDuration(s)
	require.NoError(t, err)
	return v
}

func (sc *scenario) attempt(d *datadriven.TestData) {
	t := sc.t
	a := sc.s.begin(-1, false)
	a.src.segments, a.src.pageSize, a.src.start = 1, 2, time.Now()
	a.src.onRead = nil
	sc.hookBad = d.HasArg("hook")
	a.src.hook = func(_ context.Context, s Summary) error {
		sc.note("hook: %d delivered, %d discarded", s.Delivered, s.Discarded)
		if sc.hookBad {
			return errors.New("the hook fails")
		}
		return nil
	}
	cfg := Config{Committer: a.c, Retry: Backoff{Min: 10 * time.Second, Max: 10 * time.Second}}
	cfg.Hooks.Stalled = func(s Stall) { sc.note("stalled: %s for %s, %d nacks", s.Oldest, s.Age, s.Nacks) }
	cfg.Hooks.AnchorAging = func(age, of time.Duration) { sc.note("warning: the anchor is %s old of %s", age, of) }
	cfg.Hooks.Cleared = func(keys []checkpoint.Key) { sc.note("cleared: %s", keys) }
	for arg, into := range map[string]*int{"segments": &a.src.segments, "page": &a.src.pageSize} {
		if d.HasArg(arg) {
			d.ScanArgs(t, arg, into)
		}
	}
	if d.HasArg("restart") {
		d.ScanArgs(t, "restart", &cfg.Restart)
	}
	if d.HasArg("nack") {
		var policy string
		d.ScanArgs(t, "nack", &policy)
		cfg.Nack = map[string]NackPolicy{"pin": Pin, "fail": Fail, "discard": DiscardNacked}[policy]
	}
	if d.HasArg("overlap") {
		cfg.Handoff = Overlap
	}
	cfg.Retention = duration(t, d, "retention", 0)
	var err error
	a.r, err = New(a.src, cfg)
	require.NoError(t, err)
	a.read = a.r.Read
	if d.HasArg("redeliver") {
		rc := RedeliverConfig[page]{
			Partition: func(p page) string { return p.lane },
			Backoff:   Backoff{Min: time.Second, Max: time.Second},
			DeadLetter: func(_ context.Context, b page, err error, attempts int) error {
				if sc.hookBad {
					sc.note("dead letter fails: %s", b.BatchName())
					return errors.New("the dead letters are down")
				}
				sc.note("dead letter: %s after %d: %v", b.BatchName(), attempts, err)
				return nil
			},
		}
		d.ScanArgs(t, "redeliver", &rc.MaxAttempts)
		a.rd, err = Redeliver(a.r.Read, rc)
		require.NoError(t, err)
		a.read = a.rd.Read
	}
	sc.a, sc.named = a, nil
}

func (sc *scenario) read(d *datadriven.TestData) {
	n, limit := 1, duration(sc.t, d, "for", 2*time.Second)
	if d.HasArg("n") {
		d.ScanArgs(sc.t, "n", &n)
	}
	for range n {
		ctx, cancel := context.WithTimeout(bg, limit)
		b, ack, err := sc.a.read(ctx)
		cancel()
		switch {
		case errors.Is(err, ErrFlush):
			sc.note("flush, please")
		case errors.Is(err, context.DeadlineExceeded):
			sc.note("nothing for %s", limit)
		case err != nil:
			sc.note("error: %v", err)
		default:
			sc.named = append(sc.named, &handed{page: b, ack: ack})
			sc.note("%c: %s", 'a'+len(sc.named)-1, b.BatchName())
		}
	}
}

func (sc *scenario) settle(d *datadriven.TestData, word func(*handed) error) {
	for _, arg := range d.CmdArgs {
		h := sc.named[arg.Key[0]-'a']
		if err := h.ack(bg, word(h)); err != nil {
			sc.note("%s: %v", arg.Key, err)
		}
	}
	time.Sleep(100 * time.Millisecond) // the committer's interval: what is settled is durable
}

func (sc *scenario) rows() string {
	var out []string
	for row, err := range sc.s.mem.List(bg, "p", "") {
		require.NoError(sc.t, err)
		line := row.Partition
		if row.Position != "" && !strings.HasSuffix(line, "/plan") {
			line += " at " + row.Position
		}
		if row.Complete {
			line += " complete"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}
