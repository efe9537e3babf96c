package backfill

import "strconv"

// Phase is where a pipeline stands.
type Phase uint8

const (
	// Fresh: nothing is durable yet, or what is has not been read.
	Fresh Phase = iota
	// Backfilling: the plan is durable, the scan is going on.
	Backfilling
	// Settling: everything was read, batches are still out. It is not durable: a
	// crash in it resumes in Backfilling, whose segments know what is settled.
	Settling
	// Completing: everything is settled and durable, the hook has not returned.
	Completing
	// Streaming: the marker is durable.
	Streaming
	// Finished: as Streaming, of a pipeline that only backfills.
	Finished
)

var phaseNames = [...]string{"Fresh", "Backfilling", "Settling", "Completing", "Streaming", "Finished"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "Phase(" + strconv.Itoa(int(p)) + ")"
}

// Mode is which halves a pipeline has.
type Mode uint8

const (
	// BackfillThenStream reads what exists, then what changes. The default.
	BackfillThenStream Mode = iota
	// BackfillOnlyMode ends in Finished; Read then returns ErrEnd.
	BackfillOnlyMode
	// StreamOnlyMode never backfills, writes no row and needs no Committer.
	StreamOnlyMode
)

// last is the phase after the marker.
func (m Mode) last() Phase {
	if m == BackfillOnlyMode {
		return Finished
	}
	return Streaming
}

// event is what moves a pipeline on.
type event uint8

const (
	// planned: the plan is durable and stale rows are gone.
	planned event = iota
	// exhausted: ReadBackfill returned ErrBackfillComplete.
	exhausted
	// settled: every batch of this attempt is settled and every segment's
	// completion is durable.
	settled
	// marked: the hook returned nil and the marker is durable.
	marked
)

// next is the whole machine. False: the event means nothing in this phase.
func (p Phase) next(ev event, m Mode) (Phase, bool) {
	switch {
	case p == Fresh && ev == planned:
		return Backfilling, true
	case p == Backfilling && ev == exhausted:
		return Settling, true
	case p == Settling && ev == settled:
		return Completing, true
	case p == Completing && ev == marked:
		return m.last(), true
	}
	return p, false
}

// evidence is what the rows of the current generation say.
type evidence struct {
	Prepared bool // a plan is durable, and stale rows are gone
	Segments int  // of the plan
	Complete int  // segments whose completion is durable
	Done     bool // the marker
}

// resume says where an attempt starts. A plan without segments has no durable
// scan, so only the marker proves that it ended.
func resume(e evidence, m Mode) Phase {
	switch {
	case m == StreamOnlyMode:
		return Streaming
	case !e.Prepared:
		return Fresh
	case e.Done:
		return m.last()
	case e.Segments > 0 && e.Complete == e.Segments:
		return Completing
	}
	return Backfilling
}
