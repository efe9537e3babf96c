package main

import (
	"time"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// output follows what the pipeline delivers.
type output struct {
	follow *jsonl.Follower
	lines  []jsonl.Placed
	seen   delivered
	held   int // of the writers' log, the first that are all delivered
	grew   time.Time
}

func newOutput(path string) *output {
	return &output{follow: jsonl.NewFollower(path), seen: newDelivered(), grew: time.Now()}
}

func (o *output) read() error {
	lines, err := o.follow.Next()
	for _, l := range lines {
		o.seen.add(l)
	}
	if len(lines) > 0 {
		o.grew = time.Now()
	}
	o.lines = append(o.lines, lines...)
	return err
}

func (o *output) rows() int    { return len(o.seen.rows) }
func (o *output) changes() int { return len(o.seen.changes) }

// idle is how long nothing came.
func (o *output) idle() time.Duration { return time.Since(o.grew) }

// holds reports whether every write that the stream owes was delivered.
func (o *output) holds(log []write, origin time.Time) bool {
	for ; o.held < len(log); o.held++ {
		c := log[o.held].change
		if _, ok := o.seen.changes[changeKey{c.ShardID, c.SequenceNumber}]; !ok && !c.Created.Before(origin) {
			return false
		}
	}
	return true
}
