package streamreader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Cases from the world, as texts: the first line of each says what went wrong
// there, the rest what happens here, on the real code in virtual time.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") || strings.Contains(path, "fuzz") {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			s := &scenario{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.do(t, d) })
			if s.run != nil {
				s.run.crash()
			}
		})
	})
}

// scenario is a world driven by commands:
//
//	table shards=N [rotate=4h] [inconsistent=30s] [describe-empty]
//	begin latest|trim_horizon
//	put n=N                      the next version of N keys
//	start [relaxed] [continue] [hold] [failover]
//	wait for=DURATION
//	rotate, split, expire, trim age=DURATION, disable, enable
//	fail op=OP fault=FAULT n=N, store down|up
//	ack                          what hold kept back
//	crash, drain
//	status [first=N]             first: versions below it are not owed
type scenario struct {
	w     *world
	store *flaky
	run   *run
	names map[string]string
	held  []func(context.Context, error) error
	began time.Time
}

func (s *scenario) do(t *testing.T, d *datadriven.TestData) string {
	has := func(flag string) bool { return d.HasArg(flag) }
	duration := func(key string) time.Duration {
		if !d.HasArg(key) {
			return 0
		}
		var text string
		d.ScanArgs(t, key, &text)
		v, err := time.ParseDuration(text)
		require.NoError(t, err)
		return v
	}
	number := func(key string, n int) int {
		if d.HasArg(key) {
			d.ScanArgs(t, key, &n)
		}
		return n
	}
	switch d.Cmd {
	case "table":
		cfg := streamtest.Config{Seed: 7, RotateEvery: duration("rotate")}
		if w := duration("inconsistent"); w > 0 {
			cfg.Inconsistency = streamtest.Inconsistency{Window: w, Chance: 0.5}
		}
		if has("describe-empty") {
			cfg.Inconsistency.EmptyPages = 0.5
		}
		s.w = newWorld(t, cfg, number("shards", 1))
		s.store = &flaky{Store: s.w.store}
		s.w.store = s.store
		s.names = map[string]string{}
	case "begin":
		s.w.begin(checkpoint.Start(d.CmdArgs[0].Key))
	case "put":
		s.w.put(number("n", 1))
	case "start":
		var sink func(Batch, func(context.Context, error) error)
		if has("hold") {
			sink = func(b Batch, ack func(context.Context, error) error) {
				s.w.deliver(b)
				s.w.mu.Lock()
				defer s.w.mu.Unlock()
				s.held = append(s.held, ack)
			}
		}
		s.began = time.Now()
		s.run = s.w.start(sink, func(c *Config) {
			c.Discovery = 10 * time.Second
			if has("relaxed") {
				c.Order = shards.Relaxed
			}
			if has("continue") {
				c.Gap = ContinueOn
			}
			if has("failover") {
				c.Failover = &Failover{}
			}
		})
		synctest.Wait()
	case "wait":
		time.Sleep(duration("for"))
		synctest.Wait()
	case "rotate":
		s.w.rotate()
	case "split":
		for _, sh := range s.w.service.Shards(table) {
			if sh.Closed.IsZero() {
				_, err := s.w.service.Split(table, sh.ID)
				require.NoError(t, err)
			}
		}
	case "expire":
		s.w.service.ExpireIterators()
	case "trim":
		require.NoError(t, s.w.service.Trim(table, duration("age")))
	case "disable":
		require.NoError(t, s.w.service.DisableStream(table))
	case "enable":
		_, err := s.w.service.EnableStream(table)
		require.NoError(t, err)
	case "fail":
		var op, name string
		d.ScanArgs(t, "op", &op)
		d.ScanArgs(t, "fault", &name)
		for f := streamtest.Throttle; f <= streamtest.Hang; f++ {
			if f.String() == name {
				s.w.service.FailNext(op, f, number("n", 1))
				return "ok\n"
			}
		}
		t.Fatalf("no fault is named %q", name)
	case "store":
		s.store.down.Store(d.CmdArgs[0].Key == "down")
	case "ack":
		s.w.mu.Lock()
		held := s.held
		s.held = nil
		s.w.mu.Unlock()
		for _, ack := range held {
			_ = ack(t.Context(), nil)
		}
		synctest.Wait()
	case "crash":
		s.run.crash()
		s.run = nil
	case "drain":
		s.run.drain()
		s.run = nil
	case "status":
		return s.status(number("first", 1))
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	s.learn()
	return "ok\n"
}

// learn gives shards short names in the order in which they appear.
func (s *scenario) learn() {
	for _, sh := range s.w.service.Shards(table) {
		if s.names[sh.ID] == "" {
			s.names[sh.ID] = fmt.Sprintf("s%d", len(s.names)+1)
		}
	}
}

func (s *scenario) status(first int) string {
	var b strings.Builder
	w := s.w
	lost, total := w.lost(first), w.delivered()
	w.mu.Lock()
	fmt.Fprintf(&b, "lost %d duplicates %d out-of-order %d\n", len(lost), total-len(w.times), w.stale)
	asked := slices.Clone(w.calls)
	slices.Sort(asked)
	fmt.Fprintf(&b, "iterators %s\n", strings.Join(slices.Compact(asked), " "))
	for _, g := range w.gaps {
		name := s.names[g.Shard]
		if g.Shard == "" {
			name = "the stream"
		}
		fmt.Fprintf(&b, "gap of %s after=%v before=%v gone=%v\n", name, !g.After.IsZero(), !g.Before.IsZero(), g.Gone)
	}
	w.gaps, w.calls = nil, nil
	w.mu.Unlock()

	rows := map[string]int{}
	for _, row := range s.w.rows() {
		switch {
		case row.Complete:
			rows["complete"]++
		case row.Position != "":
			rows["positioned"]++
		default:
			rows["claimed"]++
		}
	}
	fmt.Fprintf(&b, "rows %d complete %d positioned %d claimed\n", rows["complete"], rows["positioned"], rows["claimed"])
	if s.run == nil {
		return b.String()
	}
	select {
	case <-s.run.done:
		fmt.Fprintf(&b, "read: %s\n", s.sentinel(s.run.err))
	default:
		h := s.run.reader.Health()
		_, stalled := h.Stalled(time.Now(), s.began, time.Minute)
		c := h.Lineage
		fmt.Fprintf(&b, "waiting %d reading %d read %d complete %d trimmed %d stalled %v\n",
			c.Waiting, c.Reading, c.Read, c.Complete, c.Trimmed, stalled)
	}
	return b.String()
}

func (s *scenario) sentinel(err error) string {
	for name, target := range map[string]error{
		"ErrGap": shards.ErrGap, "ErrFenced": checkpoint.ErrFenced, "ErrStreamEnded": ErrStreamEnded,
		"ErrStreamGone": ErrStreamGone, "ErrGivenUp": ErrGivenUp, "ErrTerminal": ErrTerminal, "ErrStopped": ErrStopped,
	} {
		if errors.Is(err, target) {
			return name
		}
	}
	return err.Error()
}

// flaky is a store that can be down.
type flaky struct {
	checkpoint.Store
	down atomic.Bool
}

var errStoreDown = errors.New("the store is down")

func (f *flaky) err() error {
	if f.down.Load() {
		return errStoreDown
	}
	return nil
}

func (f *flaky) Claim(ctx context.Context, k checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	if err := f.err(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return f.Store.Claim(ctx, k, owner)
}

func (f *flaky) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.Save(ctx, cp)
}

func (f *flaky) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	if err := f.err(); err != nil {
		return func(yield func(checkpoint.Checkpoint, error) bool) { yield(checkpoint.Checkpoint{}, err) }
	}
	return f.Store.List(ctx, pipeline, prefix)
}

func (f *flaky) Delete(ctx context.Context, k checkpoint.Key) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.Delete(ctx, k)
}
