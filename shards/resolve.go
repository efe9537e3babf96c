package shards

import (
	"fmt"
	"time"
)

// Origin is where and when the pipeline began, in the source's clock.
type Origin struct {
	Latest bool      // begin with what is created from Time on; false: with all that is retained
	Time   time.Time // whole seconds of the source's clock, as the records' own creation times
}

// Evidence is all that may decide where the reading of a shard starts.
type Evidence struct {
	Complete   bool           // the checkpoint says so
	LastRead   SequenceNumber // last record read in this run; zero: none
	Checkpoint SequenceNumber // durable position; zero: none
	// Trimmed: the position above is no longer in the shard, the gap was
	// reported, and the policy says to go on.
	Trimmed bool
	Origin  Origin
	// Fresh: this run created the pipeline's origin, and this shard was
	// listed by the first discovery, the one that used up the Freshness.
	Fresh bool
	// Positioned: an iterator of this shard was asked for earlier in this
	// run, whether or not an answer came.
	Positioned bool
	// Cutoff is set when the pipeline's checkpoints are of this table's stream
	// in another region: every record created before it was settled there.
	Cutoff time.Time
	// Margin is how far the clocks and the replication of two regions may be
	// apart. It is taken off Cutoff.
	Margin time.Duration
}

// Kind is the type of iterator to ask for.
type Kind uint8

// The four answers of Resolve.
const (
	None                Kind = iota // do not read
	AfterSequenceNumber             // AFTER_SEQUENCE_NUMBER of Start.After
	TrimHorizon                     // TRIM_HORIZON
	Latest                          // LATEST
)

// String is the service's name of the iterator type.
func (k Kind) String() string {
	switch k {
	case None:
		return "NONE"
	case AfterSequenceNumber:
		return "AFTER_SEQUENCE_NUMBER"
	case TrimHorizon:
		return "TRIM_HORIZON"
	case Latest:
		return "LATEST"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Start is where to read a shard from, and what to leave out on the way.
type Start struct {
	Kind       Kind
	After      SequenceNumber // with AfterSequenceNumber
	SkipBefore time.Time      // records created earlier are not owed; zero: none
}

// Skips reports whether a record of this creation time is left out. A record
// without a time never is.
func (s Start) Skips(created time.Time) bool {
	return !created.IsZero() && created.Before(s.SkipBefore)
}

// Resolve is the one place that decides where a shard is read from (S1, S2).
// It is called for every iterator, the first and each renewal alike, so that
// no path of recovery has rules of its own.
func Resolve(e Evidence) Start {
	if e.Complete {
		return Start{Kind: None}
	}
	// What is older than the origin is left out behind a position too: a
	// position may be that of a record that was itself left out.
	s := Start{SkipBefore: e.skipBefore()}
	switch {
	case e.Trimmed:
		s.Kind = TrimHorizon
	case !e.LastRead.IsZero():
		s.Kind, s.After = AfterSequenceNumber, e.LastRead
	case !e.Checkpoint.IsZero():
		s.Kind, s.After = AfterSequenceNumber, e.Checkpoint
	case e.Origin.Latest && e.Fresh && !e.Positioned && e.Cutoff.IsZero():
		s.Kind = Latest
	default:
		s.Kind = TrimHorizon
	}
	return s
}

// skipBefore is the later of what the origin and the other region allow, cut
// to the second because that is how finely records are dated.
func (e Evidence) skipBefore() time.Time {
	var t time.Time
	if e.Origin.Latest {
		t = e.Origin.Time
	}
	if !e.Cutoff.IsZero() {
		if c := e.Cutoff.Add(-e.Margin); c.After(t) {
			t = c
		}
	}
	return t.Truncate(time.Second)
}
