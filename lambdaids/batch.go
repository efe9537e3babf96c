package lambdaids

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// Batch is the ledger of one batch for those who drive the work themselves: mark
// each record, then Answer. What was never marked counts as failed. It is safe
// for concurrent use.
type Batch[R any, ID Identifier] struct {
	mu sync.Mutex
	l  ledger[R, ID]
}

var errUnnamed = errors.New("lambdaids: marked as failed without an error")

// NewBatch opens the ledger of recs.
func NewBatch[R any, ID Identifier](src Source[R, ID], recs []R, policy Policy) *Batch[R, ID] {
	return &Batch[R, ID]{l: ledger[R, ID]{
		src: src, recs: recs, policy: policy.resolve(src.kind), states: make([]State, len(recs)),
	}}
}

// Done marks the i-th record as processed. False: it already has a mark; what
// failed stays failed.
func (b *Batch[R, ID]) Done(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.l.states[i] != Unprocessed {
		return false
	}
	b.l.states[i] = Done
	return true
}

// Fail marks the i-th record as failed, even if it was marked as done. False: it
// had failed already; the first error is kept.
func (b *Batch[R, ID]) Fail(i int, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.l.states[i] == Failed {
		return false
	}
	if err == nil {
		err = errUnnamed
	}
	b.l.fail(i, err)
	return true
}

// Answer is the response as the marks stand: return both to Lambda. The error is
// nil or a *BatchError.
func (b *Batch[R, ID]) Answer() (Response[ID], *BatchReport[R], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	snapshot := b.l // the report does not see later marks
	snapshot.states, snapshot.errs = slices.Clone(b.l.states), maps.Clone(b.l.errs)
	resp, err := snapshot.answer(snapshot.firstUnsettled())
	return resp, snapshot.report(err), err
}
