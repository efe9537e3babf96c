package checkpoint_test

import (
	"context"
	"errors"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

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
