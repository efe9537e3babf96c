package checkpoint_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// world is a few processes that read the same partitions of one pipeline, each
// through a faulty store of its own to the same judge. Records of a partition
// are 1, 2, 3, …; a process that opens one reads on behind the position it was
// given, as a connector would.
type world struct {
	*rapid.T
	j      *judge
	procs  []*process
	stores []*storetest.Faulty
	past   []*attempt // every attempt there ever was, zombies included
	calm   atomic.Bool
	seed   uint64
	rates  storetest.Rates
	tally  tally
}

type process struct {
	c        *checkpoint.Committer
	store    *storetest.Faulty
	attempts map[string]*attempt
}

var partitions = []string{"a", "b"}

// runWorld checks steps of the named actions in random order, and then that
// everything comes to its good end once the faults stop.
func runWorld(t *testing.T, processes int, rates storetest.Rates, actions ...string) {
	t.Helper()
	var seen tally
	for range 3 { // three times rapid's number of checks, whatever that is set to
		rapid.Check(t, worldCheck(processes, rates, actions, &seen))
	}
	t.Logf("%+v", seen)
	if seen.opened == 0 || seen.acked == 0 || (rates.Throttled+rates.Hung < 1 && seen.during == 0) {
		t.Fatal("nothing was tested")
	}
}

func worldCheck(processes int, rates storetest.Rates, actions []string, seen *tally) func(*rapid.T) {
	return func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			w := &world{T: rt, j: newJudge(), seed: rapid.Uint64().Draw(rt, "seed"), rates: rates}
			for range processes {
				w.procs = append(w.procs, w.start())
			}
			all := map[string]func(*rapid.T){
				"open": w.open, "track": w.track, "hold": w.hold, "ack": w.ack, "ackAgain": w.ackAgain, "ackLater": w.ackLater, "burst": w.burst, "work": w.work,
				"nack": w.nack, "discard": w.discard, "seal": w.seal, "sleep": w.sleep, "flush": w.flush, "drain": w.drain,
				"close": w.close, "crash": w.crash, "abandon": w.abandon, "release": w.release, "cut": w.cut, "heal": w.heal,
			}
			chosen := map[string]func(*rapid.T){"": w.check, "work again": w.work, "and again": w.work}
			for _, a := range append(actions, "open", "track", "ack", "burst", "sleep", "work") {
				if all[a] == nil {
					panic("no action " + a)
				}
				chosen[a] = all[a]
			}
			defer w.sweep()
			w.openAll(rt)
			for range 2 {
				rt.Repeat(chosen)
			}
			w.end()
			seen.add(w.tally)
		})
	}
}

// tally counts what a test has met: a property of nothing always holds.
type tally struct {
	opened, tracked, acked  int
	during                  int // saves applied before the faults stopped
	kept, failed            int // Flush, Drain, Close and Release that returned nil, or an error
	fenced, committed, over int // attempts by how they ended
}

func (t *tally) add(o tally) {
	t.opened += o.opened
	t.tracked += o.tracked
	t.acked += o.acked
	t.during += o.during
	t.kept += o.kept
	t.failed += o.failed
	t.fenced += o.fenced
	t.committed += o.committed
	t.over += o.over
}

func (w *world) start() *process {
	plan := storetest.Seeded(w.seed+uint64(len(w.past))*31, w.rates)
	p := &process{attempts: make(map[string]*attempt)}
	p.store = storetest.NewFaulty(w.j, func(c storetest.Call) storetest.Fault {
		f := plan(c)
		switch {
		case w.calm.Load():
			return storetest.Fault{}
		case c.Op != storetest.OpSave && (f.Kind == storetest.Throttled || f.Kind == storetest.Hung):
			f.Kind = storetest.None // or a store that is down would leave nothing to test
		}
		return f
	})
	w.stores = append(w.stores, p.store)
	p.c = checkpoint.NewCommitter(&witness{Store: p.store, j: w.j}, "world",
		checkpoint.Interval(rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second}).Draw(w.T, "interval")),
		checkpoint.EveryWeight(rapid.SampledFrom([]int64{0, 3}).Draw(w.T, "every")),
		checkpoint.Parallel(rapid.SampledFrom([]int{1, 2, 16}).Draw(w.T, "parallel")),
		checkpoint.SaveTimeout(3*time.Second),
		checkpoint.Backoff(100*time.Millisecond, 4*time.Second),
		checkpoint.Logger(slog.New(quietLog{w.j})),
		checkpoint.WithHooks(w.hooks()),
	)
	return p
}

// hooks are sometimes slow; only their own partition may wait for them.
func (w *world) hooks() checkpoint.Hooks {
	slow := rapid.SampledFrom([]time.Duration{0, 0, time.Second, 10 * time.Second}).Draw(w.T, "hook takes")
	return checkpoint.Hooks{
		Committed: func(cp checkpoint.Checkpoint) {
			w.j.told(cp)
			time.Sleep(slow)
		},
		CommitFailed: func(key checkpoint.Key, err error, _ int) {
			w.j.failed(key, err)
			time.Sleep(slow)
		},
	}
}

// within runs do with a deadline and checks that it keeps it.
func (w *world) within(t *rapid.T, do func(context.Context) error) (error, bool) {
	d := rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second, time.Minute}).Draw(t, "within")
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	if took := time.Since(began); took > d {
		t.Fatalf("C7: took %v, ctx allowed %v", took, d)
	}
	return err, ctx.Err() != nil
}

// check runs after every step.
func (w *world) check(t *rapid.T) {
	synctest.Wait()
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	for _, a := range w.past {
		durable, _ := a.p.Durable()
		if row := at(w.j.rows[a.key]); durable > row {
			w.j.failf("C5: %s says %d is durable, the row says %d", a.key, durable, row)
		}
		if durable != a.answered {
			w.j.failf("C5: %s says %d is durable, the store answered %d", a.key, durable, a.answered)
		}
		if a.fenced && !errors.Is(a.p.Err(), checkpoint.ErrFenced) && !a.over {
			w.j.failf("C3: %s was fenced and does not say so: %v", a.key, a.p.Err())
		}
		select {
		case <-a.p.Lost():
			if a.p.Err() == nil {
				w.j.failf("%s: lost without an error", a.key)
			}
		default:
			if a.p.Err() != nil {
				w.j.failf("%s: %v, but not lost", a.key, a.p.Err())
			}
		}
		select {
		case <-a.p.Committed():
			if !w.j.rows[a.key].Complete && !a.resumed.Complete {
				w.j.failf("C4: %s says it is committed, the row %s does not", a.key, w.j.rows[a.key])
			}
		default:
		}
	}
	if len(w.j.broken) > 0 {
		t.Fatal(w.j.broken[0])
	}
}

// sweep leaves no goroutine behind, whatever went wrong.
func (w *world) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range w.procs {
		_ = p.c.Close(ctx)
	}
	for _, s := range w.stores {
		s.Settle()
	}
}

// end stops the faults, and then whatever is held must become durable without
// any further ack, and shut down without an error.
func (w *world) end() {
	w.j.mu.Lock()
	w.tally.during = w.j.saved
	w.j.mu.Unlock()
	w.calm.Store(true)
	for _, p := range w.procs {
		p.store.Heal()
	}
	time.Sleep(5 * time.Minute) // timeouts, backoff, interval, hooks, late arrivals
	w.check(w.T)
	for _, p := range w.procs {
		for a, pos := range frontiers(p) {
			if got, _ := a.p.Durable(); got != pos && a.p.Err() == nil {
				w.Fatalf("C5: %s stays at %d behind the frontier %d although the store works", a.key, got, pos)
			}
		}
	}
	for _, a := range w.past {
		for _, it := range a.items {
			w.settle(a, it, it.ticket.Ack)
		}
		w.j.mu.Lock()
		a.sealed = true
		w.j.mu.Unlock()
		a.p.Seal()
	}
	time.Sleep(time.Minute)
	w.check(w.T)
	for _, p := range w.procs {
		ctx := context.Background()
		for _, do := range []func(context.Context) error{p.c.Flush, p.c.Drain, p.c.Close} {
			if err := do(ctx); err != nil {
				w.Fatalf("C6: the store works, and the shutdown fails: %v", err)
			}
		}
	}
	for _, s := range w.stores {
		s.Settle()
	}
	w.check(w.T)
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	for _, a := range w.past {
		switch {
		case a.fenced:
			w.tally.fenced++
		case a.over:
			w.tally.over++
		case a.p.Err() == nil:
			w.tally.committed++
		}
		if err := a.p.Err(); err == nil && !w.j.rows[a.key].Complete {
			w.Fatalf("C4: %s is settled and held, and never became complete: %s", a.key, w.j.rows[a.key])
		}
	}
}
