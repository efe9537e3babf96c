package sim

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"
)

// Report is what one or many runs counted.
type Report struct {
	Seeds, Events, Crashes, Duplicates, Gaps  int
	Lost, Order, Regressions, Stuck, DupBound int

	Changes, Attempts, Zombies, Fenced, Again, Replaced, Failovers int // how much there was to go wrong

	First  string // the first violation, in words
	Script string // hash of the script
	Log    string // hash of the event log
}

// Bad reports whether something happened that must not.
func (r Report) Bad() bool { return r.Lost+r.Order+r.Regressions+r.Stuck+r.DupBound > 0 }

// String is the verdict.
func (r Report) String() string {
	return fmt.Sprintf("sim: seeds %d events %d crashes %d lost %d order-violations %d regressions %d stuck %d dup-bound-violations %d",
		r.Seeds, r.Events, r.Crashes, r.Lost, r.Order, r.Regressions, r.Stuck, r.DupBound)
}

// Details is how much there was to go wrong.
func (r Report) Details() string {
	return fmt.Sprintf("changes %d attempts %d zombies %d fenced %d backfills-again %d streams-replaced %d failovers %d duplicates %d gaps %d",
		r.Changes, r.Attempts, r.Zombies, r.Fenced, r.Again, r.Replaced, r.Failovers, r.Duplicates, r.Gaps)
}

// Add sums two reports up.
func (r Report) Add(o Report) Report {
	r.Seeds += o.Seeds
	r.Events += o.Events
	r.Crashes += o.Crashes
	r.Duplicates += o.Duplicates
	r.Gaps += o.Gaps
	r.Lost += o.Lost
	r.Order += o.Order
	r.Regressions += o.Regressions
	r.Stuck += o.Stuck
	r.DupBound += o.DupBound
	r.Changes += o.Changes
	r.Attempts += o.Attempts
	r.Zombies += o.Zombies
	r.Fenced += o.Fenced
	r.Again += o.Again
	r.Replaced += o.Replaced
	r.Failovers += o.Failovers
	if r.First == "" {
		r.First = o.First
	}
	return r
}

// journal is the event log: hashed always, written if somebody reads it.
type journal struct {
	began time.Time

	mu     sync.Mutex
	out    io.Writer
	hash   hash.Hash
	events int
}

func newJournal(out io.Writer) *journal {
	return &journal{began: time.Now(), out: out, hash: sha256.New()}
}

func (j *journal) log(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events++
	w := io.Writer(j.hash)
	if j.out != nil {
		w = io.MultiWriter(j.hash, j.out)
	}
	fmt.Fprintf(w, "%12.6f ", time.Since(j.began).Seconds())
	fmt.Fprintf(w, format, args...)
	io.WriteString(w, "\n")
}
