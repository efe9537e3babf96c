package tracker

import (
	"context"
	"errors"
	"fmt"

	"pgregory.net/rapid"
)

// machine runs a Frontier and the model side by side. Old attempts stay: their
// tickets come back late, as acks do after a reconnect.
type machine struct {
	f       *Frontier[spot]
	m       *model
	tickets []Ticket[spot]

	old     []Ticket[spot] // of abandoned attempts
	hooks   int            // OnAdvance calls of this attempt
	before  observation
	already bool // before is set
}

// observation is what a user can see at one instant.
type observation struct {
	Snapshot[spot]
	done  bool
	hooks int
}

func newMachine(limit int64) *machine {
	s := &machine{}
	s.reset(limit)
	return s
}

func (s *machine) reset(limit int64) {
	s.m = &model{limit: limit}
	s.tickets, s.hooks, s.already = nil, 0, false
	s.f = New[spot](Config{Limit: limit, OnAdvance: func() { s.hooks++ }})
}

func (s *machine) observe() observation {
	return observation{Snapshot: s.f.Snapshot(), done: isClosed(s.f.Done()), hooks: s.hooks}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// actions are everything a caller can do, the foolish things included. What a
// draw makes impossible does nothing: skipped, it would cut the run short.
func (s *machine) actions() map[string]func(*rapid.T) {
	ctx := context.Background()
	weights := rapid.Int64Range(0, 4)
	// Track waits when there is no room; here nobody would make any.
	track := func(t *rapid.T, hold bool) {
		w := weights.Draw(t, "weight")
		if !s.m.admits(w) {
			return // would wait
		}
		at := spot{len(s.m.items), rapid.IntRange(0, 3).Draw(t, "pos")}
		var tk Ticket[spot]
		var err error
		if hold {
			tk, err = s.f.TrackHold(ctx, w)
		} else {
			tk, err = s.f.Track(ctx, at, w)
		}
		s.tracked(t, tk, err, at, w, !hold)
	}
	return map[string]func(*rapid.T){
		"track": func(t *rapid.T) { track(t, false) },
		"hold":  func(t *rapid.T) { track(t, true) },
		"tryTrack": func(t *rapid.T) {
			w := weights.Draw(t, "weight")
			at := spot{len(s.m.items), rapid.IntRange(0, 3).Draw(t, "pos")}
			tk, err := s.f.TryTrack(at, w)
			if s.m.closed() == nil && !s.m.admits(w) {
				if !errors.Is(err, ErrLimit) || tk != (Ticket[spot]{}) {
					t.Fatalf("TryTrack over the limit: %v, %v", tk, err)
				}
				return
			}
			s.tracked(t, tk, err, at, w, true)
		},
		"trackAll": func(t *rapid.T) {
			items := make([]Item[spot], rapid.IntRange(0, 40).Draw(t, "n"))
			var sum int64
			for i := range items {
				at := spot{len(s.m.items) + i, rapid.IntRange(0, 3).Draw(t, "pos")}
				items[i] = Item[spot]{at, weights.Draw(t, "weight"), rapid.Bool().Draw(t, "hold")}
				sum += items[i].Weight
			}
			if len(items) > 0 && !s.m.admits(sum) {
				return // would wait
			}
			got, err := s.f.TrackAll(ctx, items, s.tickets)
			if !errors.Is(err, s.m.closed()) {
				t.Fatalf("TrackAll: %v, not %v", err, s.m.closed())
			}
			s.tickets = got
			if err == nil {
				for _, it := range items {
					s.m.track(it.Position, it.Weight, !it.Hold)
				}
			}
			if len(s.tickets) != len(s.m.items) {
				t.Fatalf("%d tickets for %d items", len(s.tickets), len(s.m.items))
			}
		},
		"ack":     func(t *rapid.T) { s.settle(t, s.pick(t), acked) },
		"ackNext": func(t *rapid.T) { s.settle(t, s.oldest(t), acked) },
		"discard": func(t *rapid.T) { s.settle(t, s.pick(t), discarded) },
		"nack": func(t *rapid.T) {
			i := s.pick(t)
			if got, want := s.tickets[i].Nack(errors.New("refused")), s.m.nack(i); got != want {
				t.Fatalf("Nack of item %d: %v", i, got)
			}
		},
		"ackAll": func(t *rapid.T) {
			if len(s.tickets) == 0 {
				t.Skip("no tickets")
			}
			// A run as pages are acked, and then some, stale ones included.
			from := rapid.IntRange(0, len(s.tickets)-1).Draw(t, "from")
			to := rapid.IntRange(from, len(s.tickets)).Draw(t, "to")
			which := make([]int, 0, to-from)
			for i := from; i < to; i++ {
				which = append(which, i)
			}
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				which = append(which, s.pick(t))
			}
			if rapid.Bool().Draw(t, "shuffled") {
				which = rapid.Permutation(which).Draw(t, "order")
			}
			var batch []Ticket[spot]
			want := 0
			for _, i := range which {
				batch = append(batch, s.tickets[i])
				if s.m.settle(i, acked) {
					want++
				}
			}
			batch = append(batch, Ticket[spot]{})
			if got := AckAll(batch); got != want {
				t.Fatalf("AckAll of %v settled %d, not %d", which, got, want)
			}
		},
		"late": func(t *rapid.T) {
			if len(s.old) == 0 {
				t.Skip("no earlier attempt")
			}
			i := rapid.IntRange(0, len(s.old)-1).Draw(t, "ticket")
			if tk := s.old[i]; tk.Ack() || tk.Discard() || tk.Nack(nil) {
				t.Fatal("a ticket of an abandoned attempt did something")
			}
		},
		"zero": func(t *rapid.T) {
			var z Ticket[spot]
			if z.Ack() || z.Discard() || z.Nack(nil) {
				t.Fatal("the zero Ticket did something")
			}
		},
		"seal": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
				return // not yet
			}
			if got, want := s.f.Seal(), s.m.seal(); got != want {
				t.Fatalf("Seal: %v", got)
			}
		},
		"abandon": func(t *rapid.T) {
			if rapid.IntRange(0, 19).Draw(t, "really") > 0 {
				return // not yet
			}
			if got, want := s.f.Abandon(), s.m.abandon(); got != want {
				t.Fatalf("Abandon: %v", got)
			}
		},
		"reconnect": func(t *rapid.T) {
			if !s.m.abandoned {
				t.Skip("still connected")
			}
			s.old = append(s.old, s.tickets...)
			s.reset(s.m.limit)
		},
	}
}

func (s *machine) tracked(t *rapid.T, tk Ticket[spot], err error, at spot, w int64, rests bool) {
	if want := s.m.closed(); want != nil {
		if !errors.Is(err, want) || tk != (Ticket[spot]{}) {
			t.Fatalf("tracked in a closed frontier: %v, %v, not %v", tk, err, want)
		}
		return
	}
	if err != nil {
		t.Fatalf("not tracked: %v", err)
	}
	s.m.track(at, w, rests)
	s.tickets = append(s.tickets, tk)
}

// pick draws any ticket of this attempt, settled or not.
func (s *machine) pick(t *rapid.T) int {
	if len(s.tickets) == 0 {
		t.Skip("no tickets")
	}
	return rapid.IntRange(0, len(s.tickets)-1).Draw(t, "ticket")
}

// oldest is the item that the frontier waits for.
func (s *machine) oldest(t *rapid.T) int {
	if p := s.m.prefix(); p < len(s.tickets) {
		return p
	}
	t.Skip("nothing is out")
	return 0
}

func (s *machine) settle(t *rapid.T, i int, how settling) {
	settle := s.tickets[i].Ack
	if how == discarded {
		settle = s.tickets[i].Discard
	}
	if got, want := settle(), s.m.settle(i, how); got != want {
		t.Fatalf("settling item %d: %v", i, got)
	}
}

// agree compares everything that can be seen with the model.
func (s *machine) agree() error {
	if err := s.f.check(); err != nil {
		return err
	}
	pos, ok := s.f.Position()
	wantPos, wantOK := s.m.position()
	if pos != wantPos || ok != wantOK {
		return fmt.Errorf("position %v, %v; the model has %v, %v", pos, ok, wantPos, wantOK)
	}
	if got, want := s.f.Stats(), s.m.stats(); got != want {
		return fmt.Errorf("stats %+v; the model has %+v", got, want)
	}
	now := s.observe()
	want := Snapshot[spot]{
		Position: wantPos, OK: wantOK, Complete: s.m.complete(),
		Version: now.Version, Settled: s.m.settledWeight(),
	}
	if now.Snapshot != want {
		return fmt.Errorf("snapshot %+v; the model has %+v", now.Snapshot, want)
	}
	if now.done != s.m.complete() {
		return fmt.Errorf("done is %v; the model is complete: %v", now.done, s.m.complete())
	}
	if s.already {
		if err := s.follows(now); err != nil {
			return err
		}
	}
	s.before, s.already = now, true
	return nil
}

// follows is what holds between two instants of one attempt.
func (s *machine) follows(now observation) error {
	was := s.before
	changed := was.Position != now.Position || was.OK != now.OK || was.Complete != now.Complete
	switch {
	case changed && now.Version <= was.Version:
		return fmt.Errorf("changed under version %d: %+v to %+v", now.Version, was, now)
	case !changed && now.Version != was.Version:
		return fmt.Errorf("version %d after %d, and nothing changed", now.Version, was.Version)
	case changed && now.hooks == was.hooks:
		return fmt.Errorf("OnAdvance did not run: %+v to %+v", was, now)
	case was.done && !now.done:
		return errors.New("done was taken back")
	}
	return nil
}
