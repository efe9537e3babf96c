package checkpoint

import (
	"context"
	"errors"
	"iter"
)

// Store keeps checkpoints. A Committer is its usual caller; backfill also
// calls it directly for its plan and its marker. Many processes may call one
// store at once: the fence, not the process, says who may write a partition.
//
// Common to all methods:
//
//   - Names are checked with Key.Validate or ValidatePipeline before any I/O.
//   - Every read is strongly consistent: it sees each write that was answered
//     before it began, of whichever process. A stale row would be resumed from.
//   - An error other than those named here leaves it open whether the call
//     was applied: every method may be called again with the same arguments.
//   - A missing table, or missing rights, is an error, never "no checkpoint".
//   - The call ends soon after ctx does, and then returns ctx's error, wrapped
//     or raw. It may retry inside, but never beyond ctx.
//   - A row that cannot be understood, such as one written by a later version,
//     is an error that wraps ErrBadRow and names the key.
//   - Times keep milliseconds or better, zero times stay zero. Strings come
//     back byte for byte.
//
// Package storetest holds an implementation to all of this in one line.
type Store interface {
	// Claim makes owner the only writer of the partition: in one atomic
	// update it raises the fence by one (to 1 if there is no row), sets the
	// owner and sets the revision to 0. It touches neither Position nor
	// Complete nor EventTime. It returns the row as it then stands. The
	// caller passes an owner that was never used before. If the answer of a
	// Claim was lost it is called again, and raises the fence again.
	Claim(ctx context.Context, key Key, owner string) (Checkpoint, error)

	// Save writes Position, Complete, EventTime, UpdatedAt and Revision in
	// one conditional write. cp is the row that Claim returned, changed, with
	// a raised Revision for each new content; one Revision never carries two
	// contents. It is applied if the row exists with the same Fence and
	// Owner and a Revision not above cp's. The same revision is accepted
	// again, so that a write whose answer was lost can be repeated. Otherwise
	// nothing changes and the error wraps ErrFenced: a newer claim or a newer
	// save stands, or the row was deleted. ErrFenced is final, the caller
	// stops writing. Where the fence still holds but cp is incomplete and the
	// row is complete, nothing changes and the error wraps ErrComplete.
	Save(ctx context.Context, cp Checkpoint) error

	// Load returns the row, or an error that wraps ErrNotFound.
	Load(ctx context.Context, key Key) (Checkpoint, error)

	// List yields the pipeline's rows whose partition begins with prefix, in
	// ascending byte order of the partition, without the origin. After an
	// error it yields no more. Rows written while it runs may or may not be
	// seen. The caller may call the store from inside the loop.
	List(ctx context.Context, pipeline, prefix string) iter.Seq2[Checkpoint, error]

	// HasAny reports whether the pipeline has any row at all, the origin
	// included.
	HasAny(ctx context.Context, pipeline string) (bool, error)

	// Begin writes the pipeline's origin if there is none. It returns the
	// origin that stands, and whether this very call created it. If the
	// answer was lost, the repeated call finds the origin standing and says
	// false: that is the safe side. Origin.Time is in whole seconds. Callers
	// use the function Begin, which adds the proof of freshness.
	Begin(ctx context.Context, pipeline string, o Origin) (Origin, bool, error)

	// Delete removes the row, whoever holds it; no row is no error. Only
	// rows that nobody will read again may be deleted: a holder that still
	// writes is fenced by it.
	Delete(ctx context.Context, key Key) error
}

var (
	// ErrNotFound is returned by Store.Load.
	ErrNotFound = errors.New("checkpoint: not found")
	// ErrFenced is returned by Store.Save when a newer claim or save stands. A
	// partition that met it says so by Err and Ack, and to each Flush, Drain,
	// Close and Release that was waiting for it.
	ErrFenced = errors.New("checkpoint: fenced: a newer owner holds this partition, stop reading it")
	// ErrComplete is returned by Store.Save for an incomplete row over a
	// complete one.
	ErrComplete = errors.New("checkpoint: complete: a finished partition is never reopened")
	// ErrBadRow is returned by every Store method that reads, and by Open, for
	// a row that cannot be understood (C8).
	ErrBadRow = errors.New("checkpoint: row cannot be understood: use the version and codec that wrote it, or delete the row to start this partition over")
)
