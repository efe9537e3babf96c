package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

// judge is the store of a world: a Memory that holds every write it applies
// against what really was delivered. It stands below all faults, so it sees
// what is durable at every instant, not only between the steps of a test.
type judge struct {
	*checkpoint.Memory

	mu        sync.Mutex
	attempts  map[string]*attempt // by owner
	rows      map[checkpoint.Key]checkpoint.Checkpoint
	delivered map[checkpoint.Key]map[int]bool
	broken    []string
	saved     int // saves applied
}

// attempt is the model of one opened partition. Guarded by judge.mu.
type attempt struct {
	key     checkpoint.Key
	resumed checkpoint.Resumed[int]
	p       *checkpoint.Partition[int]
	items   []*item // in track order
	next    int     // next position to read
	sealed  bool

	saving   bool // a Save of it is in flight
	answered int  // position of the last Save that was answered with nil
	fenced   bool // a Save was answered with ErrFenced
	over     bool // Abandon, Release or Close returned
}

type item struct {
	position int
	hold     bool
	settled  bool
	ticket   tracker.Ticket[checkpoint.At[int]]
}

func newJudge() *judge {
	return &judge{
		Memory:    checkpoint.NewMemory(),
		attempts:  make(map[string]*attempt),
		rows:      make(map[checkpoint.Key]checkpoint.Checkpoint),
		delivered: make(map[checkpoint.Key]map[int]bool),
	}
}

func (j *judge) failf(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// eventTime is the source time of the record at a position.
func eventTime(position int) time.Time { return time.Unix(int64(position), 0) }

func at(cp checkpoint.Checkpoint) int {
	if cp.Position == "" {
		return 0
	}
	n, err := strconv.Atoi(cp.Position)
	if err != nil {
		panic(err)
	}
	return n
}

func (j *judge) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.Memory.Save(ctx, cp)
	if err == nil {
		j.applied(cp)
	}
	return err
}

// applied judges a write that has just become durable.
func (j *judge) applied(cp checkpoint.Checkpoint) {
	a := j.attempts[cp.Owner]
	if a == nil {
		j.failf("%s: saved by nobody", cp)
		return
	}
	j.saved++
	before := j.rows[cp.Key]
	j.rows[cp.Key] = cp
	if at(cp) < at(before) {
		j.failf("C2: %s after %s: the durable position went back", cp, before)
	}
	if before.Complete && !cp.Complete {
		j.failf("C4: %s after %s: reopened", cp, before)
	}
	if at(cp) != at(a.resumed.Checkpoint) {
		rests := -1
		for i, it := range a.items {
			if !it.hold && it.position == at(cp) {
				rests = i
			}
		}
		if rests < 0 {
			j.failf("%s: rests on what was never tracked", cp)
		}
		for i, it := range a.items {
			if i <= rests && !it.settled {
				j.failf("C1: %s: item %d is outstanding", cp, it.position)
			}
		}
		if !cp.EventTime.Equal(eventTime(at(cp))) {
			j.failf("%s: has the event time %v", cp, cp.EventTime)
		}
	}
	for position := 1; position <= at(cp); position++ {
		if !j.delivered[cp.Key][position] {
			j.failf("C1: %s: %d was never delivered", cp, position)
			break
		}
	}
	if cp.Complete {
		if !a.sealed {
			j.failf("C4: %s: not sealed", cp)
		}
		for _, it := range a.items {
			if !it.settled {
				j.failf("C4: %s: item %d is outstanding", cp, it.position)
			}
		}
	}
}

// witness stands between one Committer and its faulty store and holds the
// Committer to its side of the contract.
type witness struct {
	checkpoint.Store
	j *judge
}

func (w *witness) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	w.j.mu.Lock()
	a := w.j.attempts[cp.Owner]
	switch {
	case a.saving:
		w.j.failf("C2: %s: a second save beside one in flight", cp)
	case a.fenced:
		w.j.failf("C3: %s: a save after the loss", cp)
	case a.over:
		w.j.failf("%s: a save after the end", cp)
	}
	a.saving = true
	w.j.mu.Unlock()

	err := w.Store.Save(ctx, cp)

	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	a.saving = false
	if err == nil {
		a.answered = at(cp)
	}
	a.fenced = a.fenced || errors.Is(err, checkpoint.ErrFenced)
	return err
}

// told is the hook Committed: the source may be told only what is durable.
func (j *judge) told(cp checkpoint.Checkpoint) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if row := j.rows[cp.Key]; at(row) < at(cp) || (cp.Complete && !row.Complete) {
		j.failf("C5: told %s, the row is %s", cp, row)
	}
}

// failed is the hook CommitFailed.
func (j *judge) failed(key checkpoint.Key, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(err, context.Canceled) {
		j.failf("C6: a cancellation counts as a failure: %s: %v", key, err)
	}
}

// quietLog fails on a cancellation that is logged as if it were a failure.
type quietLog struct{ j *judge }

func (quietLog) Enabled(_ context.Context, l slog.Level) bool { return l > slog.LevelDebug }
func (q quietLog) WithAttrs([]slog.Attr) slog.Handler         { return q }
func (q quietLog) WithGroup(string) slog.Handler              { return q }

func (q quietLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, context.Canceled) {
			q.j.mu.Lock()
			q.j.failf("C6: a cancellation is logged: %s: %v", r.Message, err)
			q.j.mu.Unlock()
		}
		return true
	})
	return nil
}
