package lambdaids

import (
	"errors"
	"fmt"
)

var (
	// ErrNoIdentifier is returned by the Parse functions for a record without an
	// identifier: synthetic or hand-built ones may lack it.
	ErrNoIdentifier = errors.New("lambdaids: the record has no identifier")
	// ErrNotSequence is returned by ParseDynamoDB and ParseKinesis for what is no
	// sequence number, an event id above all.
	ErrNotSequence = errors.New("lambdaids: not a sequence number")
	// ErrUnprocessed is the error of a record that nothing was done with: an
	// earlier record failed, or the invocation's time was nearly up.
	ErrUnprocessed = errors.New("lambdaids: not processed in this invocation")
	// ErrUnreportable is in a BatchError's chain when a failed record has no
	// usable identifier and the whole batch is therefore failed.
	ErrUnreportable = errors.New("lambdaids: a failed record cannot be reported, so the whole batch is retried: give every record its identifier, or choose the policy Drop to lose it")
	// ErrAllFailed is in a BatchError's chain when no record succeeded and
	// Config.AllFailed asks for an error.
	ErrAllFailed = errors.New("lambdaids: every record of the batch failed")
	// ErrInFlight is returned by a handler made by Dedup when another invocation
	// holds the record's claim: it is a failure, so the record comes again.
	ErrInFlight = errors.New("lambdaids: another invocation is processing the record: it will be delivered again")
	// ErrClaimLost is returned by a Claims' Confirm and Release when the claim's
	// lease ended and somebody else took it.
	ErrClaimLost = errors.New("lambdaids: the claim was taken over: its lease ended before the record was done")
)

// PanicError is the failure of a record whose handler, or dead-letter func,
// panicked.
type PanicError struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine it ran in
}

func (e *PanicError) Error() string { return fmt.Sprintf("lambdaids: panicked: %v", e.Value) }

// Unwrap gives the panic's value when it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

type permanent struct{ err error }

func (p permanent) Error() string { return p.err.Error() }
func (p permanent) Unwrap() error { return p.err }

// Permanent marks err as one that no retry will mend: the record goes to
// Config.DeadLetter at once. Without one it fails like any other.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether err was marked by Permanent.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// BatchError fails the whole invocation: Lambda retries every record of it. It
// keeps what happened to each.
type BatchError struct {
	Kind     Kind
	Reason   error         // ErrUnreportable or ErrAllFailed
	Failures []RecordError // in batch order
	Records  int           // how many records the batch had
}

// RecordError is the failure of one record.
type RecordError struct {
	Index int // in the batch
	Err   error
}

func (e *BatchError) Error() string {
	msg := fmt.Sprintf("%v (%s, %d of %d records failed)", e.Reason, e.Kind, len(e.Failures), e.Records)
	if len(e.Failures) > 0 {
		msg += fmt.Sprintf("; record %d: %v", e.Failures[0].Index, e.Failures[0].Err)
	}
	return msg
}

// Unwrap gives the reason and every record's error.
func (e *BatchError) Unwrap() []error {
	all := make([]error, 0, len(e.Failures)+1)
	all = append(all, e.Reason)
	for _, f := range e.Failures {
		all = append(all, f.Err)
	}
	return all
}
