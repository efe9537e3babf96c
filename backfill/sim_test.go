package backfill

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

var (
	simRuns = flag.Int("sim.runs", 60, "how many simulated pipelines")
	simSeed = flag.Uint64("sim.seed", 1, "the first one's seed")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runSim is one pipeline: attempts that die at some store operation, then one
// that is left alone.
func runSim(pick choose, setUp func(*sim)) (*sim, int, int) {
	s := newSim(pick, 1+pick(12))
	if pick.chance(8) {
		s = newSim(pick, 0)
	}
	s.redeliver = pick.chance(2)
	if setUp != nil {
		setUp(s)
	}
	for range pick(6) {
		a := s.begin(pick(60), pick.chance(2))
		for range 200 {
			if !a.step() {
				break
			}
		}
		if a.store.isDead() {
			s.crashes++
		}
		a.die()
		s.checkDurable()
	}
	s.settleDown()
	lost, stale := s.verify()
	return s, lost, stale
}

func TestSimBackfill(t *testing.T) {
	var crashes, lost, stale, early int
	for i := range *simRuns {
		seed := *simSeed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			s, l, st := runSim(rnd.IntN, nil)
			crashes, lost, stale = crashes+s.crashes, lost+l, stale+st
			for _, f := range s.faults {
				if strings.HasPrefix(f, "B2: hook") {
					early++
				}
			}
			if len(s.faults) > 0 || l+st > 0 {
				t.Errorf("seed %d: lost %d, stale %d: %q", seed, l, st, s.faults)
			}
		})
	}
	fmt.Printf("sim: runs %d crashes %d lost %d stale-overwrites %d hook-before-settled %d\n", *simRuns, crashes, lost, stale, early)
}

// held by rapid: every draw shrinks.
func checkSim(t *testing.T, setUp func(*rapid.T, *sim)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			pick := func(n int) int { return rapid.IntRange(0, max(n-1, 0)).Draw(rt, "") }
			s, lost, stale := runSim(pick, func(s *sim) {
				if setUp != nil {
					setUp(rt, s)
				}
			})
			// An Overlap handoff promises nothing about old versions.
			if len(s.faults) > 0 || lost > 0 || stale > 0 && s.cfg.Handoff != Overlap {
				rt.Fatalf("lost %d, stale %d, %q", lost, stale, s.faults)
			}
		})
	})
}
