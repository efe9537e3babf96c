package backfill

import "time"

// schedule spaces the flush signals: the first at once, then with pauses that
// double while nothing settles.
type schedule struct {
	every, pause time.Duration
	next         time.Time
}

// due is the time until the next signal, 0 or less: now.
func (s *schedule) due(now time.Time) time.Duration {
	if s.next.IsZero() {
		return 0
	}
	return s.next.Sub(now)
}

func (s *schedule) sent(now time.Time) {
	if s.pause == 0 {
		s.pause = s.every
	} else {
		s.pause = min(2*s.pause, 30*s.every)
	}
	s.next = now.Add(s.pause)
}

// progress makes the pauses short again; the one that runs stays.
func (s *schedule) progress() { s.pause = 0 }

// stallClock spaces the reports on one gate's oldest batch: at after, then at
// doubled ages for as long as it is the same batch.
type stallClock struct {
	of  *batch
	age time.Duration
}

// report says whether e at age is to be reported now, and when to ask again.
func (c *stallClock) report(e *batch, age, after time.Duration) (bool, time.Duration) {
	if c.of != e {
		c.of, c.age = e, after
	}
	if age < c.age {
		return false, c.age - age
	}
	for c.age <= age {
		c.age *= 2
	}
	return true, c.age - age
}

// watchStalls reports the oldest batch of each half, and says when to look again.
func (r *Runner[B]) watchStalls() (next time.Duration, reported bool) {
	next = r.cfg.StallAfter
	now := r.cfg.Now()
	for i, g := range []*gate{r.bf, r.st} {
		e, s, ok := g.eldest(now)
		if !ok {
			r.stalls[i] = stallClock{}
			continue
		}
		report, again := r.stalls[i].report(e, s.Age, r.cfg.StallAfter)
		next = min(next, again)
		if report {
			s.Phase = r.Phase()
			r.stalled(s)
			reported = true
		}
	}
	return next, reported
}

func (r *Runner[B]) stalled(s Stall) {
	r.cfg.Log.Warn("backfill: waiting for a batch to be settled: ack it, discard it, or let Redeliver try it again",
		"pipeline", r.pipeline(), "phase", s.Phase, "outstanding", s.Outstanding, "oldest", s.Oldest,
		"age", s.Age, "nacks", s.Nacks, "err", s.LastErr)
	if r.cfg.Hooks.Stalled != nil {
		r.cfg.Hooks.Stalled(s)
	}
}
