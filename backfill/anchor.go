package backfill

import "time"

// aging is what a moment means for the stream's anchor (B9).
type aging struct {
	lost    bool
	overlap bool // time to read the stream beside the scan
	warn    int  // how many shares of WarnAt have passed
	next    time.Duration
}

// ageOf is pure. next is the time until the answer changes, 0 if it will not.
func ageOf(age, retention time.Duration, warnAt []float64, policy AnchorPolicy, overlapAt float64) aging {
	var a aging
	soon := func(share float64) bool {
		at := time.Duration(share * float64(retention))
		if age >= at {
			return true
		}
		if a.next == 0 || at-age < a.next {
			a.next = at - age
		}
		return false
	}
	for _, share := range warnAt {
		if soon(share) {
			a.warn++
		}
	}
	if policy == AnchorOverlap {
		a.overlap = soon(overlapAt)
	}
	a.lost = soon(1)
	return a
}

// anchorAge is the anchor's age now; false if there is none to guard. Once the
// stream is being read it keeps up by itself, and reports its own gaps.
func (r *Runner[B]) anchorAge() (time.Duration, bool) {
	plan := r.run.Plan
	if r.cfg.Retention == 0 || plan.StartTime.IsZero() || r.cfg.Mode != BackfillThenStream || r.streamOpen {
		return 0, false
	}
	return r.cfg.Now().Sub(plan.StartTime), true
}

func (r *Runner[B]) anchorLost(age time.Duration, phase Phase) error {
	return &AnchorLostError{StartTime: r.run.Plan.StartTime, Age: age, Retention: r.cfg.Retention, Phase: phase}
}

// guardAnchor is called before every read of a half that precedes the handoff.
// next is when to call again, 0 if never.
func (r *Runner[B]) guardAnchor() (next time.Duration, err error) {
	age, ok := r.anchorAge()
	if !ok || r.inter != nil {
		return 0, nil // interleaved, the stream is read all along
	}
	a := ageOf(age, r.cfg.Retention, r.cfg.WarnAt, r.cfg.Anchor, r.cfg.OverlapAt)
	if a.lost {
		return 0, r.anchorLost(age, r.Phase())
	}
	if a.warn > r.warned {
		r.warned = a.warn
		r.cfg.Log.Warn("backfill: the stream's anchor ages: scan faster (more segments, a higher rate), or set Config.Anchor to AnchorOverlap",
			"pipeline", r.pipeline(), "age", age, "retention", r.cfg.Retention)
		if r.cfg.Hooks.AnchorAging != nil {
			r.cfg.Hooks.AnchorAging(age, r.cfg.Retention)
		}
	}
	if a.overlap {
		r.openStream()
	}
	return a.next, nil
}
