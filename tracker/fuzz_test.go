package tracker

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// The state machines of the invariants, driven by the fuzzer's bytes. Every
// step is held to the whole model; the names say what is looked at besides.

func FuzzT1_PositionAndTickets(f *testing.F) {
	fewSlots(f)
	f.Fuzz(rapid.MakeFuzz(stateMachine(func(s *machine) error {
		pos, ok := s.f.Position()
		for i, it := range s.m.items {
			if ok && it.out && i <= pos.n {
				return errors.New("a restart from the position would lose an item")
			}
		}
		if s.already && s.before.OK && (!ok || pos.n < s.before.Position.n) {
			return errors.New("the position went back")
		}
		return nil
	})))
}

func FuzzT3_StaleTickets(f *testing.F) {
	fewSlots(f)
	f.Fuzz(rapid.MakeFuzz(stateMachine(func(s *machine) error {
		was := s.observe()
		for i, it := range s.m.items {
			if it.out && !s.m.abandoned {
				continue
			}
			if s.tickets[i].Ack() || s.tickets[i].Discard() {
				return errors.New("a second settle applied")
			}
			s.m.stale += 2
		}
		if s.observe() != was {
			return errors.New("stale settles changed something")
		}
		return nil
	})))
}

func FuzzT9_HeldItems(f *testing.F) {
	fewSlots(f)
	f.Fuzz(rapid.MakeFuzz(stateMachine(func(s *machine) error {
		if pos, ok := s.f.Position(); ok && !s.m.items[pos.n].rests {
			return errors.New("the frontier rests on a held item")
		}
		return nil
	})))
}
