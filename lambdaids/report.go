package lambdaids

import (
	"errors"
	"iter"
)

// BatchReport is what became of one batch, record by record.
type BatchReport[R any] struct {
	Kind    Kind
	Records []R   // the event's own
	Err     error // what the invocation returns: nil or a *BatchError

	Done, Failed, Unprocessed, DeadLettered int
	Unreportable                            int // failed records without identifier
	Panics                                  int

	states    []State
	err       func(int) error
	redeliver []bool
}

// State is what became of the i-th record.
func (r *BatchReport[R]) State(i int) State { return r.states[i] }

// RecordErr is why the i-th record is unsettled, nil if it is not.
func (r *BatchReport[R]) RecordErr(i int) error { return r.err(i) }

// Redelivered are the settled records that come again nevertheless, because they
// lie behind a failed one (on Kafka: may come again). Claims taken for them to
// recognise duplicates must stay.
func (r *BatchReport[R]) Redelivered() iter.Seq2[int, *R] {
	return func(yield func(int, *R) bool) {
		for i, again := range r.redeliver {
			if again && !yield(i, &r.Records[i]) {
				return
			}
		}
	}
}

func (l *ledger[R, ID]) report(err error) *BatchReport[R] {
	r := &BatchReport[R]{
		Kind: l.src.kind, Records: l.recs, Err: err,
		Unreportable: len(l.unreport),
		states:       l.states, err: l.err, redeliver: l.redeliver,
	}
	for i, s := range l.states {
		switch s {
		case Done:
			r.Done++
		case Failed:
			r.Failed++
			var panicked *PanicError // alone, or with the error of the dead letters
			if errors.As(l.errs[i], &panicked) {
				r.Panics++
			}
		case DeadLettered:
			r.DeadLettered++
		default:
			r.Unprocessed++
		}
	}
	return r
}

func (r *BatchReport[R]) stats() Stats {
	s := Stats{
		Done: uint64(r.Done), Failed: uint64(r.Failed), Unprocessed: uint64(r.Unprocessed), DeadLettered: uint64(r.DeadLettered),
		Unreportable: uint64(r.Unreportable), Panics: uint64(r.Panics),
	}
	if r.Err != nil {
		s.WholeBatch = 1
	}
	for range r.Redelivered() {
		s.Redelivered++
	}
	return s
}
