package lambdaids

// State is what became of one record of a batch.
type State uint8

// The states of a record. Only Done and DeadLettered are settled; everything
// else is delivered again.
const (
	Unprocessed State = iota
	Done
	Failed
	DeadLettered
)

func (s State) String() string {
	return [...]string{"unprocessed", "done", "failed", "dead-lettered"}[s]
}

func (s State) settled() bool { return s == Done || s == DeadLettered }

// ledger decides the answer for one batch from the states of its records. It is
// the pure core: no lock, no clock, no log.
type ledger[R any, ID Identifier] struct {
	src       Source[R, ID]
	recs      []R
	policy    Policy // resolved
	all       AllFailed
	whole     bool // FIFO: a failure takes everything after it along, not only its group
	states    []State
	letters   bool          // some are dead-lettered
	errs      map[int]error // of failed records
	unreport  []RecordError // failed records without identifier
	redeliver []bool        // settled records that come again; nil: none
}

func (l *ledger[R, ID]) fail(i int, err error) {
	l.states[i] = Failed
	if l.errs == nil {
		l.errs = make(map[int]error)
	}
	l.errs[i] = err
}

// mark sets the state of a record and reports whether it is settled.
func (l *ledger[R, ID]) mark(i int, s State, err error) bool {
	if s == Failed {
		l.fail(i, err)
	} else {
		l.states[i] = s
		l.letters = l.letters || s == DeadLettered
	}
	return s.settled()
}

// err is why a record is unsettled; nil for a settled one.
func (l *ledger[R, ID]) err(i int) error {
	switch l.states[i] {
	case Failed:
		return l.errs[i]
	case Unprocessed:
		return ErrUnprocessed
	}
	return nil
}

func (l *ledger[R, ID]) firstUnsettled() int {
	for i, s := range l.states {
		if !s.settled() {
			return i
		}
	}
	return len(l.states)
}

// answer is the response for the batch whose first unsettled record is first.
func (l *ledger[R, ID]) answer(first int) (Response[ID], error) {
	var resp Response[ID]
	if first == len(l.states) {
		return resp, nil
	}
	if l.all == ReturnError && !l.anySettled() {
		return resp, l.wholeBatch(ErrAllFailed)
	}
	var ok bool
	if l.src.kind.Rewinds() {
		resp, ok = l.checkpoint(first)
	} else {
		resp, ok = l.list(first)
	}
	if !ok {
		return Response[ID]{}, l.wholeBatch(ErrUnreportable)
	}
	return resp, nil
}

func (l *ledger[R, ID]) anySettled() bool {
	for _, s := range l.states {
		if s.settled() {
			return true
		}
	}
	return false
}

// checkpoint names the lowest unsettled record: it and everything after it is
// delivered again. The minimum is taken over all unsettled records, not only the
// first, so that an event in whatever order loses nothing.
func (l *ledger[R, ID]) checkpoint(first int) (resp Response[ID], ok bool) {
	var earlier ID // nearest identifier before looked, when widened
	var found bool // earlier is set
	looked := -1   // records below looked were searched for it
	for i := first; i < len(l.states); i++ {
		if l.states[i].settled() {
			continue
		}
		id, err := l.src.id(&l.recs[i])
		if err == nil {
			resp.Fail(id)
			continue
		}
		l.unreport = append(l.unreport, RecordError{i, err})
		switch l.policy {
		case Drop:
			continue
		case Widen:
			for j := i - 1; j >= max(looked, 0); j-- {
				if id, err := l.src.id(&l.recs[j]); err == nil {
					earlier, found = id, true
					break
				}
			}
			looked = i
			if found {
				resp.Fail(earlier)
				continue
			}
		}
		return resp, false
	}
	l.markBehind(resp)
	return resp, true
}

// markBehind marks the settled records that a checkpoint takes along.
func (l *ledger[R, ID]) markBehind(resp Response[ID]) {
	if resp.Len() == 0 {
		return
	}
	reached := false // the checkpoint's own record, for the place of those without number
	for i, s := range l.states {
		id, err := l.src.id(&l.recs[i])
		reached = reached || (err == nil && id == resp.At(0))
		if s.settled() && ((err == nil && compareIDs(id, resp.At(0)) >= 0) || (err != nil && reached)) {
			l.markRedelivered(i)
		}
	}
}

// list names every unsettled record, and on FIFO queues also what was done behind
// a failure of its group: left out, it would be deleted while what it must follow
// comes again.
func (l *ledger[R, ID]) list(first int) (resp Response[ID], ok bool) {
	var open map[string]struct{} // groups with an unsettled record
	if l.src.group != nil {
		open = make(map[string]struct{})
	}
	for i := first; i < len(l.states); i++ {
		behind := false
		if l.src.group != nil {
			g := l.src.group(&l.recs[i])
			if l.states[i].settled() {
				_, behind = open[g]
			} else {
				open[g] = struct{}{}
			}
		}
		behind = behind || l.whole
		if l.states[i].settled() {
			if !behind {
				continue
			}
			l.markRedelivered(i)
			if l.src.kind != SQSFIFOQueue {
				continue // Kafka: comes again only if the answer is read as a rewind
			}
		}
		id, err := l.src.id(&l.recs[i])
		if err == nil {
			resp.Fail(id)
			continue
		}
		l.unreport = append(l.unreport, RecordError{i, err})
		if l.policy != Drop {
			return resp, false
		}
	}
	return resp, true
}

func (l *ledger[R, ID]) markRedelivered(i int) {
	if l.redeliver == nil {
		l.redeliver = make([]bool, len(l.states))
	}
	l.redeliver[i] = true
}

func (l *ledger[R, ID]) wholeBatch(reason error) error {
	e := &BatchError{Kind: l.src.kind, Reason: reason, Records: len(l.states)}
	for i, s := range l.states {
		if s.settled() {
			l.markRedelivered(i)
		} else {
			e.Failures = append(e.Failures, RecordError{i, l.err(i)})
		}
	}
	return e
}
