package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// ledger reads and writes the rows that backfill owns: plan and done. The
// segments' rows are the source's, through the Committer; it only reads them.
type ledger struct {
	store    checkpoint.Store
	pipeline string
	owner    string // a label; each claim has an owner of its own
	now      func() time.Time

	// done is this attempt's claim of the done row; the channel is its lock, so
	// that waiting for it ends with ctx. Saves of one row must be one after
	// another, so the lock is held across them.
	lock  chan struct{}
	done  checkpoint.Checkpoint
	tally tally
}

func newLedger(store checkpoint.Store, pipeline, owner string, now func() time.Time) *ledger {
	return &ledger{
		store: store, pipeline: pipeline, owner: owner, now: now,
		lock: make(chan struct{}, 1),
	}
}

// standing is what the pipeline's rows say at one moment.
type standing struct {
	Generation uint64 // the newest with a plan, 0: none
	Plan       Plan
	evidence
	DoneFence uint64 // who holds the done row
	Waiting   []waiting
	Highest   uint64           // newest generation of any row but a plan that was never saved
	Stale     []checkpoint.Key // rows of other generations
}

// waiting is a segment that is not complete.
type waiting struct {
	name  string
	fence uint64 // of its last claim
}

func (w waiting) String() string { return w.name }

// read lists the rows, strongly consistent as every List is.
func (l *ledger) read(ctx context.Context) (standing, error) {
	var rows []checkpoint.Checkpoint
	for row, err := range l.store.List(ctx, l.pipeline, rowPrefix) {
		if err != nil {
			return standing{}, err
		}
		rows = append(rows, row)
	}
	return standOf(rows)
}

// standOf is pure: rows to meaning.
func standOf(rows []checkpoint.Checkpoint) (standing, error) {
	type parsed struct {
		checkpoint.Checkpoint
		g    uint64
		kind rowKind
		n    int
	}
	var st standing
	all := make([]parsed, 0, len(rows))
	for _, row := range rows {
		g, kind, _, n, err := parseName(row.Partition)
		if err != nil {
			return standing{}, fmt.Errorf("%w (%s)", err, row.Key)
		}
		if kind != planKind || row.Position != "" {
			// A plan that was claimed and never saved is none.
			st.Highest = max(st.Highest, g)
		}
		if kind == planKind && row.Position != "" && g > st.Generation {
			plan, err := decodePlan(row.Position)
			if err != nil {
				return standing{}, fmt.Errorf("%w: %s: %w: delete the row to begin again, or run the version that wrote it", ErrPlan, row.Key, err)
			}
			st.Generation, st.Plan, st.Prepared = g, plan, row.Complete
		}
		all = append(all, parsed{row, g, kind, n})
	}
	st.Segments = st.Plan.Segments
	for _, row := range all {
		switch {
		case row.g < st.Generation:
			st.Stale = append(st.Stale, row.Key)
		case row.g > st.Generation: // its plan was never saved
		case row.kind == doneKind:
			st.Done, st.DoneFence = row.Complete, row.Fence
		case row.kind == segmentKind && row.n == st.Segments:
			if row.Complete {
				st.Complete++
			} else {
				st.Waiting = append(st.Waiting, waiting{row.Partition, row.Fence})
			}
		}
	}
	return st, nil
}

// propose makes plan the plan of generation g, unless another one is there
// already: then that one is returned. prepared says that no row has to go first.
func (l *ledger) propose(ctx context.Context, g uint64, plan Plan, prepared bool) error {
	row, err := l.store.Claim(ctx, checkpoint.Key{Pipeline: l.pipeline, Partition: planName(g)}, checkpoint.NewOwner(l.owner))
	if err != nil {
		return err
	}
	if row.Position != "" {
		return nil // somebody planned this generation meanwhile: the caller reads it
	}
	row.Position, err = plan.encode()
	if err != nil {
		return fmt.Errorf("backfill: the plan cannot be encoded: %w", err)
	}
	row.Complete = prepared
	return l.save(ctx, &row)
}

// prepared records that the rows the plan makes stale are gone.
func (l *ledger) prepared(ctx context.Context, g uint64) error {
	row, err := l.store.Claim(ctx, checkpoint.Key{Pipeline: l.pipeline, Partition: planName(g)}, checkpoint.NewOwner(l.owner))
	if err != nil || row.Complete {
		return err
	}
	row.Complete = true
	return l.save(ctx, &row)
}

// begin claims the done row: its fence is the attempt's number.
func (l *ledger) begin(ctx context.Context, g uint64) (checkpoint.Checkpoint, error) {
	row, err := l.store.Claim(ctx, checkpoint.Key{Pipeline: l.pipeline, Partition: doneName(g)}, checkpoint.NewOwner(l.owner))
	if err != nil {
		return row, err
	}
	t, err := decodeTally(row.Position)
	if err != nil {
		return row, fmt.Errorf("%w: %s: %w", ErrPlan, row.Key, err)
	}
	l.done, l.tally = row, t
	return row, nil
}

// note makes the counts durable, so that a hook that runs again after a crash has
// them. It also finds out whether the attempt was superseded.
func (l *ledger) note(ctx context.Context, delivered uint64) error {
	return l.locked(ctx, func() error { return l.put(ctx, l.tally, delivered, false) })
}

// discard counts one more discarded batch, durably.
func (l *ledger) discard(ctx context.Context, delivered uint64) error {
	return l.locked(ctx, func() error {
		t := l.tally
		t.Discarded++
		if err := l.put(ctx, t, delivered, false); err != nil {
			return err
		}
		l.tally = t
		return nil
	})
}

// counts are the tally over all attempts, given this one's deliveries.
func (l *ledger) counts(delivered uint64) tally {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	return tally{l.tally.Delivered + delivered, l.tally.Discarded}
}

// mark saves the marker.
func (l *ledger) mark(ctx context.Context, delivered uint64) error {
	return l.locked(ctx, func() error { return l.put(ctx, l.tally, delivered, true) })
}

// put saves the done row, with this attempt's deliveries added to t.
func (l *ledger) put(ctx context.Context, t tally, delivered uint64, marked bool) error {
	row := l.done
	t.Delivered += delivered
	row.Position, row.Complete = t.encode(), marked
	err := l.save(ctx, &row)
	l.done.Revision = row.Revision // also after an error: see save
	return err
}

func (l *ledger) locked(ctx context.Context, do func() error) error {
	select {
	case l.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.lock }()
	return do()
}

// save writes row with a raised revision. It stays raised after an error: an
// answer may have been lost, and one revision never carries two contents.
func (l *ledger) save(ctx context.Context, row *checkpoint.Checkpoint) error {
	row.Revision++
	row.UpdatedAt = l.now()
	err := l.store.Save(ctx, *row)
	if errors.Is(err, checkpoint.ErrFenced) {
		return fmt.Errorf("%w: %s: %w", ErrSuperseded, row.Key, err)
	}
	return err
}

// clear deletes keys, and what lies under prefix.
func (l *ledger) clear(ctx context.Context, keys []checkpoint.Key, prefix string) ([]checkpoint.Key, error) {
	if prefix != "" {
		for row, err := range l.store.List(ctx, l.pipeline, prefix) {
			if err != nil {
				return nil, err
			}
			keys = append(keys, row.Key)
		}
	}
	for i, key := range keys {
		if err := l.store.Delete(ctx, key); err != nil {
			return keys[:i], err
		}
	}
	return keys, nil
}

// moved reports whether a stream under prefix ever got anywhere; with an error it
// says nothing.
func (l *ledger) moved(ctx context.Context, prefix string) (bool, error) {
	for row, err := range l.store.List(ctx, l.pipeline, prefix) {
		if err != nil || row.Position != "" || row.Complete {
			return true, err
		}
	}
	return false, nil
}
