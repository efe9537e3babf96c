package tracker

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// machines runs the state machine and holds every step to the model and to one
// invariant, written without the model's arithmetic where that can be done.
func machines(t *testing.T, invariant func(s *machine) error) {
	fewSlots(t)
	rapid.Check(t, stateMachine(invariant))
}

func stateMachine(invariant func(s *machine) error) func(*rapid.T) {
	return func(t *rapid.T) {
		s := newMachine(rapid.SampledFrom([]int64{0, 0, 1, 3, 10, 100}).Draw(t, "limit"))
		actions := s.actions()
		actions[""] = func(t *rapid.T) {
			if err := invariant(s); err != nil {
				t.Fatalf("%v\n%s", err, s.f)
			}
			if err := s.agree(); err != nil {
				t.Fatalf("%v\n%s", err, s.f)
			}
		}
		t.Repeat(actions)
	}
}

// fewSlots lets a machine of some ten items reach what needs thousands: slots
// are moved whenever fewer than a half are in use.
func fewSlots(t testing.TB) {
	keep, many := keepSlots, sparse
	keepSlots, sparse = 2, 2
	t.Cleanup(func() { keepSlots, sparse = keep, many })
}

func TestT1_PositionNeverPassesAnOutstandingTicket(t *testing.T) {
	machines(t, func(s *machine) error {
		pos, ok := s.f.Position()
		if !ok {
			return nil
		}
		for i, it := range s.m.items {
			if it.out && i <= pos.n {
				return errors.New("a restart from the position would lose an item")
			}
		}
		return nil
	})
}

func TestT2_PositionNeverMovesBackwards(t *testing.T) {
	machines(t, func(s *machine) error {
		pos, ok := s.f.Position()
		if s.already && s.before.OK && (!ok || pos.n < s.before.Position.n) {
			return errors.New("the position went back")
		}
		return nil
	})
}

func TestT3_StaleSettlesChangeNothing(t *testing.T) {
	machines(t, func(s *machine) error {
		was, stats := s.observe(), s.f.Stats()
		var stale uint64
		for i, it := range s.m.items {
			if it.out && !s.m.abandoned {
				continue
			}
			for _, settle := range []func() bool{s.tickets[i].Ack, s.tickets[i].Discard} {
				if settle() {
					return errors.New("a second settle applied")
				}
				stale++
			}
			if s.tickets[i].Nack(nil) || AckAll(s.tickets[i:i+1]) != 0 {
				return errors.New("a nack of what is settled applied")
			}
			stale += 2
		}
		s.m.stale += stale
		stats.Stale += stale
		if now := s.observe(); now != was || s.f.Stats() != stats {
			return errors.New("stale settles changed more than their count")
		}
		return nil
	})
}

func TestT4_NackedStaysOutstandingUntilSettled(t *testing.T) {
	machines(t, func(s *machine) error {
		pos, ok := s.f.Position()
		for i, it := range s.m.items {
			if !it.out || !it.nacked || s.m.abandoned {
				continue
			}
			if ok && i <= pos.n {
				return errors.New("the position passed a nacked item")
			}
			if !s.tickets[i].Nack(errors.New("again")) {
				return errors.New("a nacked ticket went stale")
			}
			s.m.nacked++
			if isClosed(s.f.Done()) {
				return errors.New("done with a nacked item out")
			}
		}
		return nil
	})
}

func TestT5_DoneClosesExactlyWhenSealedAndSettled(t *testing.T) {
	machines(t, func(s *machine) error {
		st := s.f.Stats()
		if got, want := isClosed(s.f.Done()), st.Sealed && st.Outstanding == 0 && !st.Abandoned; got != want {
			return errors.New("done is not what seal and the tickets say")
		}
		if !st.Sealed || st.Abandoned {
			return nil
		}
		if _, err := s.f.Track(context.Background(), spot{}, 0); !errors.Is(err, ErrSealed) {
			return errors.New("tracked after Seal")
		}
		return nil
	})
}

func TestT6_OutstandingWeightStaysWithinTheLimit(t *testing.T) {
	machines(t, func(s *machine) error {
		st := s.f.Stats()
		if s.m.limit == 0 || st.OutstandingWeight <= s.m.limit {
			return nil
		}
		// Over the limit: one item, or what is left of one TrackAll that was
		// let in alone, and then nothing before it is out.
		over := int64(0)
		for _, it := range s.m.items[s.m.prefix():] {
			over += it.weight
		}
		if over <= s.m.limit {
			return errors.New("over the limit, and not by one call alone in flight")
		}
		if _, err := s.f.TryTrack(spot{}, 0); s.m.closed() == nil && !errors.Is(err, ErrLimit) {
			return errors.New("something joined what is over the limit")
		}
		return nil
	})
}

func TestT7_AbandonMakesTicketsStaleAndNeverCloses(t *testing.T) {
	machines(t, func(s *machine) error {
		if !s.m.abandoned {
			return nil
		}
		pos, ok := s.f.Position()
		for _, tk := range s.tickets {
			if tk.Ack() {
				return errors.New("an ack applied after Abandon")
			}
			s.m.stale++
		}
		if now, nowOK := s.f.Position(); now != pos || nowOK != ok {
			return errors.New("the position moved after Abandon")
		}
		if isClosed(s.f.Done()) || s.f.Snapshot().Complete {
			return errors.New("abandoned and yet done")
		}
		return nil
	})
}

func TestT9_FrontierRestsOnlyOnItemsWithAPosition(t *testing.T) {
	machines(t, func(s *machine) error {
		if pos, ok := s.f.Position(); ok && !s.m.items[pos.n].rests {
			return errors.New("the frontier rests on a held item")
		}
		return nil
	})
}
