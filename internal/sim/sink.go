package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ackgate/ackgate/backfill"
)

// batch is what the pipeline hands out: a page of the table or of the stream.
type batch struct {
	partition string // of its checkpoint
	changes   []*change
	last      int // where its position stands in the partition's order
	scan      bool
	shard     *lane
}

// handout is one batch in the hands of one attempt's sink.
type handout struct {
	batch
	number  int
	ack     backfill.AckFunc
	ackedAt time.Time // zero: not acked
}

func (h *handout) String() string {
	s := fmt.Sprintf("batch %d of %s:", h.number, h.partition)
	for _, c := range h.changes {
		s += " " + c.String()
	}
	return s
}

// sink is what a worker delivers to. It collects, and then acks each batch after
// a time of its own: late, in any order, and not always at once.
type sink struct {
	a *attempt

	mu     sync.Mutex
	held   []*handout
	linger *time.Timer
	busy   sync.WaitGroup
}

var errRefused = errors.New("sim: the sink refuses the batch for now")

func (s *sink) take(h *handout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, h)
	switch {
	case len(s.held) >= s.a.set.Batch:
		s.flushLocked()
	case len(s.held) == 1:
		s.linger = time.AfterFunc(s.a.set.Linger, s.flush)
	}
}

func (s *sink) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}

func (s *sink) flushLocked() {
	if s.linger != nil {
		s.linger.Stop()
	}
	for _, h := range s.held {
		d := s.a.world.chance.of("sink", s.a.n, h.number)
		refused := s.a.set.Refuse > 0 && d.oneIn(s.a.set.Refuse)
		wait := d.between(time.Millisecond, s.a.set.Slow)
		s.busy.Go(func() { s.deliver(h, d, wait, refused) })
	}
	s.held = nil
}

// deliver brings one batch to its destination. The process may be frozen or die
// anywhere in it.
func (s *sink) deliver(h *handout, d dice, wait time.Duration, refused bool) {
	ctx := context.Background()
	for {
		if !s.a.sleep(wait) || s.a.process.pass(ctx, d) != nil {
			return
		}
		if !refused {
			break
		}
		s.a.world.log("attempt %d nack %d", s.a.n, h.number)
		_ = h.ack(ctx, errRefused)
		if s.a.set.Redeliver || s.a.set.Nack == backfill.Fail {
			return // it is handed out again, or the attempt ends
		}
		refused = false
	}
	s.a.world.oracle.acked(s.a, h)
	_ = h.ack(ctx, nil) // stale or not: delivered it is
}
