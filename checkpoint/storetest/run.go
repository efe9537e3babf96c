package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// Run runs the conformance suite as subtests of t. open is called once for each
// subtest, and returns a Store that works; it cleans up with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"ClaimRaisesTheFenceAndKeepsTheRest", claimKeeps},
		{"ConcurrentClaimsGetDifferentFences", concurrentClaims},
		{"SaveRoundTrips", saveRoundTrips},
		{"SaveIsRepeatable", saveRepeats},
		{"OlderRevisionChangesNothing", olderRevision},
		{"OlderFenceChangesNothing", olderFence},
		{"UnclaimedFenceChangesNothing", unclaimedFence},
		{"SaveDoesNotRecreateADeletedRow", deletedRow},
		{"OwnerTellsAZombieFromTheHolder", reclaimedRow},
		{"CompleteIsNeverReopened", completeStays},
		{"RacingSavesNeverStepBack", racingSaves},
		{"NoSaveAfterANewerClaim", saveRacesClaim},
		{"LoadOfNothing", loadNothing},
		{"ListIsOrderedAndNarrow", listOrder},
		{"ListAllowsCallsInItsLoop", listLoop},
		{"HasAnySeesEveryRow", hasAny},
		{"BeginWritesOnce", beginOnce},
		{"ConcurrentBeginsCreateOnce", concurrentBegins},
		{"OriginIsNoPartition", originReserved},
		{"BadKeysAreRefused", badKeys},
		{"CancelledCallsSaySo", cancelled},
		{"RandomCallsMatchTheModel", randomCalls},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(&suite{T: t, ctx: t.Context(), store: open(t), unique: rand.Text()[:8]})
		})
	}
}

// suite is what a case works with: testing.T and a few assertions that end it.
type suite struct {
	*testing.T
	ctx    context.Context
	store  checkpoint.Store
	unique string
}

// pipeline is a name that no other subtest uses.
func (s *suite) pipeline(suffix string) string { return "storetest-" + s.unique + suffix }

func (s *suite) key(partition string) checkpoint.Key {
	return checkpoint.Key{Pipeline: s.pipeline(""), Partition: partition}
}

func (s *suite) claim(key checkpoint.Key) checkpoint.Checkpoint {
	s.Helper()
	cp, err := s.store.Claim(s.ctx, key, checkpoint.NewOwner("test"))
	if err != nil {
		s.Fatalf("Claim(%s): %v", key, err)
	}
	return cp
}

// saved saves cp at the next revision, at the given position.
func (s *suite) saved(cp checkpoint.Checkpoint, position string) checkpoint.Checkpoint {
	s.Helper()
	cp.Position = position
	cp.Revision++
	s.wantSave(cp, nil)
	return cp
}

func (s *suite) wantSave(cp checkpoint.Checkpoint, want error) {
	s.Helper()
	if err := s.store.Save(s.ctx, cp); !errors.Is(err, want) || (want == nil && err != nil) {
		s.Fatalf("Save(%s): %v, want %v", cp, err, want)
	}
}

// wantRow checks the row as loaded, all but UpdatedAt.
func (s *suite) wantRow(want checkpoint.Checkpoint) {
	s.Helper()
	got, err := s.store.Load(s.ctx, want.Key)
	if err != nil {
		s.Fatalf("Load(%s): %v", want.Key, err)
	}
	s.same(got, want)
}

func (s *suite) same(got, want checkpoint.Checkpoint) {
	s.Helper()
	if diff := differ(got, want); diff != "" {
		s.Fatalf("the %s differs:\n got %s event=%v owner=%q\nwant %s event=%v owner=%q",
			diff, got, got.EventTime, got.Owner, want, want.EventTime, want.Owner)
	}
}

// differ names the first field that differs, "" if none does. Times may be kept
// in another zone; UpdatedAt is checked where it matters.
func differ(got, want checkpoint.Checkpoint) string {
	switch {
	case got.Key != want.Key:
		return "key"
	case got.Position != want.Position:
		return "position"
	case got.Complete != want.Complete:
		return "completion"
	case got.Fence != want.Fence:
		return "fence"
	case got.Revision != want.Revision:
		return "revision"
	case got.Owner != want.Owner:
		return "owner"
	case got.EventTime.IsZero() != want.EventTime.IsZero():
		return "event time"
	case !got.EventTime.Equal(want.EventTime):
		return "event time"
	}
	return ""
}

// aTime is a time that every store must keep exactly.
func aTime() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC) }
