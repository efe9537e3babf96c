package checkpoint_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/tracker"
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
		checkpoint.WithHooks(checkpoint.Hooks{Committed: w.j.told, CommitFailed: w.j.failed}),
	)
	return p
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

func (w *world) anyProcess(t *rapid.T) *process {
	return w.procs[rapid.IntRange(0, len(w.procs)-1).Draw(t, "process")]
}

func (w *world) anyAttempt(t *rapid.T) *attempt {
	if len(w.past) == 0 {
		t.Skip()
	}
	// Mostly recent ones, now and then one that should be long gone.
	back := rapid.IntRange(0, min(len(w.past), 4)-1).Draw(t, "attempt")
	return w.past[len(w.past)-1-back]
}

func (w *world) anyItem(t *rapid.T, settled bool) (*attempt, *item) {
	a := w.anyAttempt(t)
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	var some []*item
	for _, it := range a.items {
		if it.settled == settled {
			some = append(some, it)
		}
	}
	if len(some) == 0 {
		t.Skip()
	}
	return a, some[rapid.IntRange(0, len(some)-1).Draw(t, "item")]
}

// openAll lets the first process begin, as a rule with both partitions.
func (w *world) openAll(t *rapid.T) {
	for _, name := range partitions {
		w.openOne(t, w.procs[0], name)
	}
}

func (w *world) open(t *rapid.T) {
	w.openOne(t, w.anyProcess(t), rapid.SampledFrom(partitions).Draw(t, "partition"))
}

// work is what happens most of the time: read on, deliver most of it, wait.
func (w *world) work(t *rapid.T) {
	w.track(t)
	w.burst(t)
	w.track(t)
	w.sleep(t)
}

func (w *world) openOne(t *rapid.T, p *process, name string) {
	_, _ = w.within(t, func(ctx context.Context) error {
		part, resumed, err := checkpoint.Open(ctx, p.c, name, checkpoint.Integer[int]{})
		if err != nil {
			if errors.Is(err, checkpoint.ErrBadRow) {
				t.Fatal(err)
			}
			return err
		}
		w.j.mu.Lock()
		defer w.j.mu.Unlock()
		if before := w.j.rows[part.Key()]; at(resumed.Checkpoint) != at(before) || resumed.Complete != before.Complete {
			w.j.failf("opened %s over %s", resumed.Checkpoint, before)
		}
		a := &attempt{key: part.Key(), resumed: resumed, p: part, next: at(resumed.Checkpoint) + 1, answered: at(resumed.Checkpoint)}
		a.sealed = resumed.Complete
		w.j.attempts[resumed.Owner] = a
		p.attempts[name] = a
		w.past = append(w.past, a)
		w.tally.opened++
		return nil
	})
}

func (w *world) track(t *rapid.T) {
	a := w.anyAttempt(t)
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		position := a.next
		ticket, err := a.p.TrackAt(context.Background(), position, eventTime(position), 1)
		if !w.tracked(t, a, err) {
			return
		}
		a.next++
		w.j.mu.Lock()
		a.items = append(a.items, &item{position: position, ticket: ticket})
		w.j.mu.Unlock()
	}
}

// tracked checks that Track refuses for a reason, and only then.
func (w *world) tracked(t *rapid.T, a *attempt, err error) bool {
	switch {
	case err == nil:
		if a.sealed || a.over {
			t.Fatalf("%s: tracked after the end", a.key)
		}
		w.tally.tracked++
		return true
	case errors.Is(err, tracker.ErrSealed) && a.sealed:
	case errors.Is(err, tracker.ErrAbandoned) && a.p.Err() != nil:
	default:
		t.Fatalf("%s: Track: %v, Err: %v", a.key, err, a.p.Err())
	}
	return false
}

func (w *world) hold(t *rapid.T) {
	a := w.anyAttempt(t)
	ticket, err := a.p.TrackHold(context.Background(), 1)
	if !w.tracked(t, a, err) {
		return
	}
	w.j.mu.Lock()
	a.items = append(a.items, &item{position: a.next, hold: true, ticket: ticket})
	w.j.mu.Unlock()
	w.track(t)
}

// settle settles an item; the model knows before the tracker does, for a save
// may follow at once. No virtual time may pass: acks never wait (C7).
func (w *world) settle(a *attempt, it *item, how func() bool) {
	w.j.mu.Lock()
	before := it.settled
	it.settled = true
	if !it.hold {
		if w.j.delivered[a.key] == nil {
			w.j.delivered[a.key] = make(map[int]bool)
		}
		// Delivered to the sink, whatever becomes of the attempt.
		w.j.delivered[a.key][it.position] = true
	}
	w.j.mu.Unlock()
	began := time.Now()
	applied := how()
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	if took := time.Since(began); took != 0 {
		w.j.failf("C7: an ack waited %v", took)
	}
	if applied {
		w.tally.acked++
	}
	switch {
	case applied && before:
		w.j.failf("%s: item %d settled twice", a.key, it.position)
	case applied && a.over:
		w.j.failf("%s: an ack counted after the end", a.key)
	case !applied && !before:
		it.settled = false
	}
}

func (w *world) ack(t *rapid.T) {
	a, it := w.anyItem(t, false)
	w.settle(a, it, it.ticket.Ack)
}

func (w *world) ackAgain(t *rapid.T) {
	a, it := w.anyItem(t, true)
	w.settle(a, it, it.ticket.Ack)
}

func (w *world) ackLater(t *rapid.T) {
	a, it := w.anyItem(t, false)
	d := time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond
	time.AfterFunc(d, func() { w.settle(a, it, it.ticket.Ack) })
}

// burst acks everything that an attempt has outstanding, in order or the other
// way, at such a pace that saves are in flight in between.
func (w *world) burst(t *rapid.T) {
	a := w.anyAttempt(t)
	pace := time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond
	backwards := rapid.Bool().Draw(t, "backwards")
	w.j.mu.Lock()
	var some []*item
	for _, it := range a.items {
		if !it.settled {
			some = append(some, it)
		}
	}
	w.j.mu.Unlock()
	if backwards {
		slices.Reverse(some)
	}
	for _, it := range some {
		w.settle(a, it, it.ticket.Ack)
		time.Sleep(pace)
	}
}

func (w *world) discard(t *rapid.T) {
	a, it := w.anyItem(t, false)
	w.settle(a, it, it.ticket.Discard)
}

func (w *world) nack(t *rapid.T) {
	_, it := w.anyItem(t, false)
	it.ticket.Nack(errors.New("sink says no"))
}

func (w *world) seal(t *rapid.T) {
	a := w.anyAttempt(t)
	w.j.mu.Lock()
	live := a.p.Err() == nil
	a.sealed = a.sealed || live // before: the completion may be saved at once
	w.j.mu.Unlock()
	a.p.Seal()
}

func (w *world) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond)
}

func (w *world) cut(t *rapid.T)  { w.anyProcess(t).store.Cut() }
func (w *world) heal(t *rapid.T) { w.anyProcess(t).store.Heal() }

// frontiers are the positions of a process, as of now, that must be durable
// after a flush; attempts that are over owe nothing.
func frontiers(p *process) map[*attempt]int {
	all := make(map[*attempt]int)
	for _, a := range p.attempts {
		if pos, ok := a.p.Position(); ok && a.p.Err() == nil {
			all[a] = pos
		}
	}
	return all
}

// judged checks what a nil or an error of Flush, Drain, Close and Release says.
func (w *world) judged(t *rapid.T, what string, err error, timedOut bool, owed map[*attempt]int) {
	if err == nil {
		w.tally.kept++
	} else {
		w.tally.failed++
	}
	switch {
	case err == nil:
		for a, pos := range owed {
			if got, _ := a.p.Durable(); got < pos {
				t.Fatalf("C6: %s returned nil, but %s is durable at %d, not %d", what, a.key, got, pos)
			}
		}
	case timedOut: // allowed; that it kept its time was checked
	case errors.Is(err, checkpoint.ErrFenced) || errors.Is(err, checkpoint.ErrClosed):
	default:
		t.Fatalf("C6: %s gave up before its time: %v", what, err)
	}
}

func (w *world) flush(t *rapid.T) {
	p := w.anyProcess(t)
	owed := frontiers(p)
	err, timedOut := w.within(t, p.c.Flush)
	w.judged(t, "Flush", err, timedOut, owed)
}

func (w *world) drain(t *rapid.T) {
	p := w.anyProcess(t)
	owed := frontiers(p)
	var out []*item
	w.j.mu.Lock()
	for _, a := range p.attempts {
		if a.p.Err() == nil {
			for _, it := range a.items {
				if !it.settled {
					out = append(out, it)
				}
			}
		}
	}
	w.j.mu.Unlock()
	err, timedOut := w.within(t, p.c.Drain)
	w.judged(t, "Drain", err, timedOut, owed)
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	for _, it := range out {
		if err == nil && !it.settled {
			t.Fatalf("C6: Drain returned nil, item %d is outstanding", it.position)
		}
	}
}

func (w *world) ended(p *process) {
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	for _, a := range p.attempts {
		a.over = true
	}
}

func (w *world) close(t *rapid.T) {
	i := rapid.IntRange(0, len(w.procs)-1).Draw(t, "process")
	p := w.procs[i]
	live := frontiers(p)
	err, timedOut := w.within(t, p.c.Close)
	w.ended(p)
	// All acks that counted until now are covered.
	for a := range live {
		live[a], _ = a.p.Position()
	}
	w.judged(t, "Close", err, timedOut, live)
	w.procs[i] = w.start()
}

// crash cuts the process off for ever. What it had sent may still arrive.
func (w *world) crash(t *rapid.T) {
	i := rapid.IntRange(0, len(w.procs)-1).Draw(t, "process")
	p := w.procs[i]
	p.store.Cut()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.c.Close(ctx)
	w.ended(p)
	w.procs[i] = w.start()
}

func (w *world) abandon(t *rapid.T) {
	a := w.anyAttempt(t)
	a.p.Abandon()
	w.j.mu.Lock()
	if a.saving {
		w.j.failf("%s: Abandon returned, a save is in flight", a.key)
	}
	a.over = true
	w.j.mu.Unlock()
}

func (w *world) release(t *rapid.T) {
	a := w.anyAttempt(t)
	lost := a.p.Err() != nil
	err, timedOut := w.within(t, a.p.Release)
	w.j.mu.Lock()
	a.over = true
	w.j.mu.Unlock()
	if pos, ok := a.p.Position(); ok && !lost {
		w.judged(t, "Release", err, timedOut, map[*attempt]int{a: pos})
	}
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
	time.Sleep(time.Minute) // timeouts, backoff, interval, late arrivals
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
