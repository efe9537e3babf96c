package storetest

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

func claimKeeps(s *suite) {
	key := s.key("shard/1")
	owner := checkpoint.NewOwner("first")
	cp, err := s.store.Claim(s.ctx, key, owner)
	if err != nil {
		s.Fatal(err)
	}
	s.same(cp, checkpoint.Checkpoint{Key: key, Fence: 1, Owner: owner})
	s.wantRow(cp)
	cp.EventTime = aTime()
	cp.Complete = true
	cp = s.saved(cp, "17")

	again := s.claim(key)
	want := cp
	want.Fence, want.Revision, want.Owner = 2, 0, again.Owner
	s.same(again, want)
	s.wantRow(want)
	if again.Owner == owner {
		s.Fatal("the owner was not replaced")
	}
}

func concurrentClaims(s *suite) {
	const n = 12
	key := s.key("contended")
	fences, errs := make([]uint64, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cp, err := s.store.Claim(s.ctx, key, checkpoint.NewOwner(""))
			fences[i], errs[i] = cp.Fence, err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	seen := make(map[uint64]bool)
	for _, f := range fences {
		if f < 1 || f > n || seen[f] {
			s.Fatalf("%d concurrent claims got the fences %v, want each of 1 to %d once", n, fences, n)
		}
		seen[f] = true
	}
}

func saveRoundTrips(s *suite) {
	for i, position := range []string{
		"0", strings.Repeat("9", 56), `{"id":{"S":"a \"quoted\" key"},"n":{"N":"-1.50"}}`, "héllo/☃ 𝄞",
		" spaces kept ", "line\nbreak", strings.Repeat("long ", 400),
	} {
		cp := s.claim(s.key("position/" + strconv.Itoa(i)))
		cp.UpdatedAt = aTime().Add(time.Hour)
		if i%2 == 0 {
			cp.EventTime = aTime()
		}
		cp.Complete = i%3 == 0
		cp = s.saved(cp, position)
		s.wantRow(cp)
		got, err := s.store.Load(s.ctx, cp.Key)
		if err != nil {
			s.Fatal(err)
		}
		if !got.UpdatedAt.Equal(cp.UpdatedAt) {
			s.Fatalf("UpdatedAt is %v, saved was %v", got.UpdatedAt, cp.UpdatedAt)
		}
	}
	// A completion without any position, and large counters.
	cp := s.claim(s.key("empty"))
	cp.Complete, cp.Revision = true, 1<<53+1 // beyond what a float64 holds
	s.wantSave(cp, nil)
	s.wantRow(cp)
}

func saveRepeats(s *suite) {
	cp := s.saved(s.claim(s.key("p")), "1")
	s.wantSave(cp, nil)
	s.wantSave(cp, nil)
	s.wantRow(cp)
	cp.Complete = true
	cp = s.saved(cp, "2")
	s.wantSave(cp, nil)
	s.wantRow(cp)
}

func olderRevision(s *suite) {
	first := s.saved(s.claim(s.key("p")), "1")
	second := s.saved(first, "2")
	s.wantSave(first, checkpoint.ErrFenced)
	s.wantRow(second)
	third := second
	third.Revision += 5 // gaps are fine
	third.Position = "3"
	s.wantSave(third, nil)
	s.wantRow(third)
}

func olderFence(s *suite) {
	old := s.saved(s.claim(s.key("p")), "100")
	held := s.claim(s.key("p"))
	late := old
	late.Position, late.Revision = "200", 1000
	s.wantSave(late, checkpoint.ErrFenced) // before the new holder saved anything
	s.wantRow(held)
	held = s.saved(held, "101")
	s.wantSave(late, checkpoint.ErrFenced)
	late.Complete = true
	s.wantSave(late, checkpoint.ErrFenced)
	s.wantSave(old, checkpoint.ErrFenced) // its own repeat is too late as well
	s.wantRow(held)
}

func unclaimedFence(s *suite) {
	held := s.saved(s.claim(s.key("p")), "1")
	forged := held
	forged.Fence, forged.Position = held.Fence+1, "2"
	s.wantSave(forged, checkpoint.ErrFenced)
	s.wantRow(held)
}

func deletedRow(s *suite) {
	cp := s.saved(s.claim(s.key("p")), "1")
	if err := s.store.Delete(s.ctx, cp.Key); err != nil {
		s.Fatal(err)
	}
	cp.Revision++
	s.wantSave(cp, checkpoint.ErrFenced)
	if got, err := s.store.Load(s.ctx, cp.Key); !errors.Is(err, checkpoint.ErrNotFound) {
		s.Fatalf("the deleted row came back: %s, %v", got, err)
	}
	if err := s.store.Delete(s.ctx, cp.Key); err != nil {
		s.Fatalf("Delete of nothing: %v", err)
	}
}

func reclaimedRow(s *suite) {
	zombie := s.saved(s.claim(s.key("p")), "100")
	if err := s.store.Delete(s.ctx, zombie.Key); err != nil {
		s.Fatal(err)
	}
	held := s.saved(s.claim(s.key("p")), "1")
	if held.Fence != zombie.Fence {
		s.Skipf("this store does not start fences over: %d after %d", held.Fence, zombie.Fence)
	}
	zombie.Revision = 1000
	s.wantSave(zombie, checkpoint.ErrFenced)
	s.wantRow(held)
}

func completeStays(s *suite) {
	cp := s.claim(s.key("p"))
	cp.Complete = true
	cp = s.saved(cp, "9")
	reopened := cp
	reopened.Complete = false
	reopened.Revision++
	s.wantSave(reopened, checkpoint.ErrComplete)
	s.wantRow(cp)

	held := s.claim(s.key("p"))
	if !held.Complete {
		s.Fatal("Claim reopened a complete row")
	}
	reopened = held
	reopened.Complete = false
	reopened.Revision++
	s.wantSave(reopened, checkpoint.ErrComplete)
	reopened.Fence-- // a lost fence is the stronger reason
	s.wantSave(reopened, checkpoint.ErrFenced)
	s.wantRow(held)
}

func racingSaves(s *suite) {
	const n = 20
	cp := s.claim(s.key("p"))
	order := rand.Perm(n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for _, i := range order {
		wg.Go(func() {
			mine := cp
			mine.Revision, mine.Position = uint64(i+1), strconv.Itoa(i+1)
			errs[i] = s.store.Save(s.ctx, mine)
		})
	}
	stop := make(chan struct{})
	var watch sync.WaitGroup
	var stepped error
	watch.Go(func() {
		var last uint64
		for {
			select {
			case <-stop:
				return
			default:
			}
			got, err := s.store.Load(s.ctx, cp.Key)
			if err == nil && got.Revision < last {
				err = errors.New("the revision went back from " + strconv.FormatUint(last, 10) + " to " + got.String())
			}
			if err != nil {
				stepped = err
				return
			}
			last = got.Revision
		}
	})
	wg.Wait()
	close(stop)
	watch.Wait()
	if stepped != nil {
		s.Fatal(stepped)
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, checkpoint.ErrFenced) {
			s.Fatalf("revision %d: %v", i+1, err)
		}
	}
	if errs[n-1] != nil {
		s.Fatalf("the highest revision was refused: %v", errs[n-1])
	}
	cp.Revision, cp.Position = n, strconv.Itoa(n)
	s.wantRow(cp)
}

// saveRacesClaim: whatever an old holder writes while the new one claims, it is
// in the claimed row or it is nowhere.
func saveRacesClaim(s *suite) {
	for round := range 10 {
		cp := s.claim(s.key("p" + strconv.Itoa(round)))
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				mine := cp
				mine.Revision, mine.Position = uint64(i+1), "old/"+strconv.Itoa(i+1)
				_ = s.store.Save(s.ctx, mine)
			})
		}
		held := s.claim(cp.Key)
		s.wantRow(held)
		wg.Wait()
		s.wantRow(held)
	}
}
