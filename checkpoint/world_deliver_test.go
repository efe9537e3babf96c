package checkpoint_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

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
