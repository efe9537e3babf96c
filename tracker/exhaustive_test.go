package tracker

import (
	"context"
	"fmt"
	"testing"
)

// A few items leave few enough histories to go through all of them: items are
// tracked in order and each is settled at any time after it was tracked. The
// number of such histories of n items is 1·3·5·…·(2n-1).

// history is one of them: the item number where it is tracked, and again where
// it is settled.
type history []int

func histories(n int) []history {
	var all []history
	var extend func(h history, tracked int, out []int)
	extend = func(h history, tracked int, out []int) {
		if len(h) == 2*n {
			all = append(all, append(history(nil), h...))
			return
		}
		if tracked < n {
			extend(append(h, tracked), tracked+1, append(append([]int(nil), out...), tracked))
		}
		for k, i := range out {
			rest := append(append([]int(nil), out[:k]...), out[k+1:]...)
			extend(append(h, i), tracked, rest)
		}
	}
	extend(nil, 0, nil)
	return all
}

// replay runs a history and compares every step with the model. Items in the
// set hold are held, those in drop are discarded; every settle is preceded by a
// nack and followed by a second ack. Before step number end (none if it is
// negative) the frontier is sealed or abandoned.
func replay(h history, hold, drop, end int, abandon bool) error {
	ctx := context.Background()
	s := newMachine(0)
	tracked := map[int]int{} // number in the history: index in the frontier
	for step, i := range h {
		if step == end {
			if abandon {
				if s.f.Abandon() != s.m.abandon() {
					return fmt.Errorf("Abandon before step %d", step)
				}
			} else if s.f.Seal() != s.m.seal() {
				return fmt.Errorf("Seal before step %d", step)
			}
			if err := s.agree(); err != nil {
				return fmt.Errorf("ended before step %d: %w", step, err)
			}
		}
		k, settled := tracked[i]
		if !settled {
			k = len(s.m.items)
			tracked[i] = k
			var tk Ticket[spot]
			var err error
			at, rests := spot{k, i / 2}, hold>>i&1 == 0
			if rests {
				tk, err = s.f.Track(ctx, at, 1)
			} else {
				tk, err = s.f.TrackHold(ctx, 1)
			}
			if want := s.m.closed(); err != want {
				return fmt.Errorf("step %d: Track: %v, not %v", step, err, want)
			}
			if err == nil {
				s.m.track(at, 1, rests)
				s.tickets = append(s.tickets, tk)
			}
		} else if k < len(s.tickets) { // was tracked before the end
			tk, how := s.tickets[k], settling(drop>>i&1)
			settle := tk.Ack
			if how == discarded {
				settle = tk.Discard
			}
			if tk.Nack(nil) != s.m.nack(k) || settle() != s.m.settle(k, how) || tk.Ack() != s.m.settle(k, acked) {
				return fmt.Errorf("step %d: settling item %d", step, i)
			}
		}
		if err := s.agree(); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

func TestT1_AllOrdersOfSixItems(t *testing.T) {
	n := 6
	if raceEnabled || testing.Short() {
		n = 5
	}
	all := histories(n)
	for x, h := range all {
		// Which items are held and which are dropped goes round, so that all
		// of it meets all kinds of histories without multiplying them.
		for _, hold := range []int{0, x % (1 << n), 1<<n - 1} {
			drop := (x / 7) % (1 << n)
			if err := replay(h, hold, drop, -1, false); err != nil {
				t.Fatalf("history %v, hold %b, drop %b: %v", h, hold, drop, err)
			}
		}
	}
	t.Logf("%d histories of %d items", len(all), n)
}

func TestT9_AllHoldsOfAllOrdersOfFourItems(t *testing.T) {
	const n = 4
	for _, h := range histories(n) {
		for hold := range 1 << n {
			for drop := range 1 << n {
				if err := replay(h, hold, drop, -1, false); err != nil {
					t.Fatalf("history %v, hold %b, drop %b: %v", h, hold, drop, err)
				}
			}
		}
	}
}

func TestT5_SealAtEveryPointOfFiveItems(t *testing.T) { endAtEveryPoint(t, false) }

func TestT7_AbandonAtEveryPointOfFiveItems(t *testing.T) { endAtEveryPoint(t, true) }

func endAtEveryPoint(t *testing.T, abandon bool) {
	n := 5
	if raceEnabled || testing.Short() {
		n = 4
	}
	for x, h := range histories(n) {
		for end := range h {
			hold := (x + end) % (1 << n)
			if err := replay(h, hold, 0, end, abandon); err != nil {
				t.Fatalf("history %v, hold %b, end before %d: %v", h, hold, end, err)
			}
		}
	}
}
