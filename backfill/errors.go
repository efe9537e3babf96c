package backfill

import (
	"errors"
	"fmt"
	"time"
)

// The signals of Read. None of them is a failure.
var (
	// ErrBackfillComplete is returned by Reader.ReadBackfill once everything, a
	// trailing partial batch included, was read.
	ErrBackfillComplete = errors.New("backfill: complete: everything that existed was read")

	// ErrFlush is returned by Runner.Read, and by a redelivering reader, when
	// nothing can come until batches already handed out are settled: flush
	// whatever batches up downstream and read again.
	ErrFlush = errors.New("backfill: waiting for batches to be settled: flush what is downstream and read again")

	// ErrEnd is returned by Runner.Read once a BackfillOnly run is finished, and
	// may be returned by Reader.ReadStream of a stream that ends.
	ErrEnd = errors.New("backfill: end: nothing more will come")

	// ErrStopped is returned by Read after Stop, Abort or Close. The phase stays
	// where it is; the next attempt resumes there.
	ErrStopped = errors.New("backfill: stopped: the next attempt resumes where this one is")
)

// The failures. Each ends the attempt, never the pipeline: a new Runner starts
// from what is durable.
var (
	// ErrAttemptOver is returned by an AckFunc whose attempt was aborted or
	// closed. Nothing was settled: the batch comes again.
	ErrAttemptOver = errors.New("backfill: the attempt is over: this batch comes again in the next one")

	// ErrSuperseded is returned by Read when a newer attempt of the same
	// pipeline has taken over, as the store says. Of attempts that start together
	// the newest one never gets it, so a process that stops at it leaves another
	// one running, or one that ended with ErrDisplaced.
	ErrSuperseded = errors.New("backfill: superseded: a newer attempt runs this pipeline")

	// ErrDisplaced is returned by Read of the newest attempt when an older one, that
	// was already superseded and had not noticed, claimed a segment or another
	// partition of it in passing. The older one ends with ErrSuperseded, so nobody
	// runs: begin again with a new Runner. Nothing is lost. It is neither
	// ErrSuperseded nor checkpoint.ErrFenced.
	ErrDisplaced = errors.New("backfill: displaced: an older attempt claimed a partition on its way out: begin again with a new Runner")

	// ErrIncomplete is returned by Read when every batch is settled but a
	// segment's completion is not durable: the source did not seal it.
	ErrIncomplete = errors.New("backfill: a segment is not complete although everything was settled")

	// ErrNacked is returned by Read under the Fail policy.
	ErrNacked = errors.New("backfill: a batch was not delivered")

	// ErrPlan is returned by Read when the persisted plan cannot be followed: it
	// contradicts the configuration, or cannot be understood.
	ErrPlan = errors.New("backfill: the persisted plan cannot be followed")

	// ErrAnchorLost is returned by Read when the stream no longer holds what the
	// handoff needs (B9). errors.As with *AnchorLostError has the details.
	ErrAnchorLost = errors.New("backfill: the stream no longer reaches back to the backfill's start")
)

// AnchorLostError says how far the anchor aged.
type AnchorLostError struct {
	StartTime time.Time // of the plan, in the source's clock
	Age       time.Duration
	Retention time.Duration
	Phase     Phase
}

func (e *AnchorLostError) Error() string {
	return fmt.Sprintf("%v: it started at %s, %s ago, and the stream keeps %s (phase %s): "+
		"set Config.Restart to a new word to begin again, and scan faster (more segments, a higher rate) "+
		"or set Config.Anchor to AnchorOverlap", ErrAnchorLost,
		e.StartTime.UTC().Format(time.RFC3339), e.Age.Round(time.Second), e.Retention, e.Phase)
}

// Is makes errors.Is(err, ErrAnchorLost) true.
func (e *AnchorLostError) Is(target error) bool { return target == ErrAnchorLost }

// NackedError names the batch that ended the attempt under the Fail policy.
type NackedError struct {
	Batch string
	Phase Phase
	Err   error
}

func (e *NackedError) Error() string {
	return fmt.Sprintf("backfill: %s was not delivered in phase %s: %v", e.Batch, e.Phase, e.Err)
}

// Unwrap makes both ErrNacked and the cause visible to errors.Is.
func (e *NackedError) Unwrap() []error { return []error{ErrNacked, e.Err} }

// errDiscard marks an error given to an AckFunc as a deliberate discard.
type errDiscard struct{ cause error }

func (e *errDiscard) Error() string {
	if e.cause == nil {
		return "backfill: discarded"
	}
	return "backfill: discarded: " + e.cause.Error()
}

func (e *errDiscard) Unwrap() error { return e.cause }

// Discard marks cause as a deliberate discard: an AckFunc of a Runner given it
// settles the batch as discarded under every policy. cause may be nil.
func Discard(cause error) error { return &errDiscard{cause} }

// Discarded reports whether err came from Discard.
func Discarded(err error) bool {
	var d *errDiscard
	return errors.As(err, &d)
}
