package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

// revisions is a store that fails as it is told, and notes whatever was sent
// under two contents of one revision.
type revisions struct {
	checkpoint.Store
	lose, refuse bool // the next answer; the next save
	sent         map[[2]uint64]checkpoint.Checkpoint
	twice        []checkpoint.Checkpoint
}

var errLost = errors.New("test: the answer is lost")

func (s *revisions) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	at := [2]uint64{cp.Fence, cp.Revision}
	if was, ok := s.sent[at]; ok && (was.Position != cp.Position || was.Complete != cp.Complete) {
		s.twice = append(s.twice, was, cp)
	}
	s.sent[at] = cp
	if s.refuse {
		return errLost
	}
	if err := s.Store.Save(ctx, cp); err != nil {
		return err
	}
	if s.lose {
		return errLost
	}
	return nil
}

// The counts go on where the last attempt's durable ones are, a discard that was
// confirmed is in them, and no revision of the row has two contents, whether a
// save did not arrive or its answer did not.
func TestB3_CountsOutliveTheAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := checkpoint.NewMemory()
		store := &revisions{Store: mem, sent: map[[2]uint64]checkpoint.Checkpoint{}}
		now := time.Unix(0, 0)
		var l *ledger
		var durable, began tally // what is saved; what this attempt counts from
		var marked bool
		begin := func() {
			l = newLedger(store, "p", "", func() time.Time { return now })
			row, err := l.begin(bg, 1)
			require.NoError(t, err)
			require.Equal(t, marked, row.Complete)
			began = durable
		}
		begin()
		save := func(t *rapid.T, want tally, mark bool, do func(delivered uint64) error) bool {
			now = now.Add(time.Second)
			n := rapid.Uint64Range(0, 9).Draw(t, "delivered")
			store.refuse, store.lose = false, false
			switch rapid.IntRange(0, 3).Draw(t, "fault") {
			case 0:
				store.refuse = true
			case 1:
				store.lose = true
			}
			err := do(n)
			require.Equal(t, store.refuse || store.lose, err != nil)
			if !store.refuse {
				want.Delivered += n
				durable, marked = want, marked || mark
				row, err := mem.Load(bg, checkpoint.Key{Pipeline: "p", Partition: doneName(1)})
				require.NoError(t, err)
				require.Equal(t, now, row.UpdatedAt)
				require.Equal(t, marked, row.Complete)
				got, err := decodeTally(row.Position)
				require.NoError(t, err)
				require.Equal(t, durable, got)
			}
			require.Empty(t, store.twice)
			return err == nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) { begin() },
			"note": func(t *rapid.T) {
				if marked {
					t.Skip()
				}
				save(t, began, false, func(n uint64) error { return l.note(bg, n) })
			},
			"discard": func(t *rapid.T) {
				if marked {
					t.Skip()
				}
				more := tally{began.Delivered, began.Discarded + 1}
				if save(t, more, false, func(n uint64) error { return l.discard(bg, n) }) {
					began = more
				}
			},
			"mark": func(t *rapid.T) { save(t, began, true, func(n uint64) error { return l.mark(bg, n) }) },
			"": func(t *rapid.T) {
				require.Equal(t, tally{began.Delivered + 3, began.Discarded}, l.counts(3))
				require.GreaterOrEqual(t, durable.Discarded, began.Discarded)
			},
		})
	})
}

// What waits for the row's lock obeys its context.
func TestB5_TheDoneRowsLockHoldsNobodyUp(t *testing.T) {
	l := newLedger(checkpoint.NewMemory(), "p", "", time.Now)
	_, err := l.begin(bg, 1)
	require.NoError(t, err)
	l.lock <- struct{}{}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.Equal(t, context.Canceled, l.note(ctx, 1))
	<-l.lock
	require.NoError(t, l.note(bg, 1))
}
