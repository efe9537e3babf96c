package backfill

import (
	"context"
	"fmt"
)

// start finds out where the pipeline stands, plans if it is fresh, and enters
// the phase. It may be run again after an error: nothing of it is remembered.
func (r *Runner[B]) start(ctx context.Context) error {
	ctx, cancel := r.until(ctx)
	defer cancel()
	if r.led == nil {
		r.run = Run{Phase: Streaming, Committer: r.cfg.Committer}
		if err := r.startSource(ctx); err != nil {
			return err
		}
		r.enter(Streaming)
		return nil
	}
	st, err := r.planned(ctx)
	if err != nil {
		return err
	}
	if r.cfg.Source != "" && st.Plan.Source != "" && r.cfg.Source != st.Plan.Source {
		return fmt.Errorf("%w: pipeline %q backfills %s, the configuration says %s: use another pipeline name, or a new Config.Restart word",
			ErrPlan, r.pipeline(), st.Plan.Source, r.cfg.Source)
	}
	done, err := r.led.begin(ctx, st.Generation)
	if err != nil {
		return err
	}
	// Read again behind the claim: what a newer generation, or an attempt
	// that has just ended, wrote meanwhile is seen now.
	again, err := r.led.read(ctx)
	if err != nil {
		return err
	}
	if again.Generation != st.Generation || again.DoneFence != done.Fence {
		return fmt.Errorf("%w (generation %d, attempt %d)", ErrSuperseded, again.Generation, again.DoneFence)
	}
	phase := resume(again.evidence, r.cfg.Mode)
	r.run = Run{
		Plan: again.Plan, Generation: again.Generation, Attempt: done.Fence,
		Phase: phase, Committer: r.cfg.Committer,
	}
	if err := r.guardResume(ctx, phase); err != nil {
		return err
	}
	if err := r.startSource(ctx); err != nil {
		return err
	}
	// Once more behind the claims of the segments: an attempt that was
	// superseded between the two ends before it reads.
	r.claims = r.openSegments()
	r.doubt(nil)
	if phase == Backfilling {
		r.advance(planned)
	} else {
		r.enter(phase)
	}
	return nil
}

// planned makes sure that a plan is durable (B1) and that what it makes stale is
// gone, and returns where that leaves the pipeline.
func (r *Runner[B]) planned(ctx context.Context) (standing, error) {
	st, err := r.led.read(ctx)
	if err != nil {
		return st, err
	}
	restart := r.cfg.Restart != "" && r.cfg.Restart != st.Plan.Restart && st.Generation > 0
	if st.Generation == 0 || restart {
		plan := Plan{Source: r.cfg.Source}
		if p, ok := r.opt.(Planner); ok {
			if plan, err = p.PlanBackfill(ctx); err != nil {
				return st, err
			}
			if plan.Segments < 0 {
				return st, fmt.Errorf("backfill: the source planned %d segments", plan.Segments)
			}
		}
		plan.Restart = r.cfg.Restart
		// Rows go only behind the durable plan: a crash in between finds the
		// plan unprepared and clears again.
		if err := r.led.propose(ctx, st.Highest+1, plan, !restart); err != nil {
			return st, err
		}
		if st, err = r.led.read(ctx); err != nil {
			return st, err
		}
	}
	if st.Prepared {
		return st, nil
	}
	keys, err := r.led.clear(ctx, st.Stale, r.cfg.StreamPrefix)
	if err != nil {
		return st, err
	}
	r.cfg.Log.Warn("backfill: restarted: older rows are gone", "pipeline", r.pipeline(),
		"restart", st.Plan.Restart, "generation", st.Generation, "rows", len(keys))
	if r.cfg.Hooks.Cleared != nil {
		r.cfg.Hooks.Cleared(keys)
	}
	if err := r.led.prepared(ctx, st.Generation); err != nil {
		return st, err
	}
	return r.led.read(ctx)
}

// guardResume finds an anchor that was lost while no attempt ran.
func (r *Runner[B]) guardResume(ctx context.Context, phase Phase) error {
	age, ok := r.anchorAge()
	if !ok || age < r.cfg.Retention {
		return nil
	}
	if phase == Streaming || r.inter != nil {
		// Behind the marker, or interleaved, the stream's own rows tell of gaps, unless it never
		// wrote one that stands anywhere.
		moved, err := r.led.moved(ctx, r.cfg.StreamPrefix)
		if err != nil || moved {
			return err
		}
	}
	return r.anchorLost(age, phase)
}

func (r *Runner[B]) startSource(ctx context.Context) error {
	if s, ok := r.opt.(Starter); ok {
		return s.StartBackfill(ctx, r.run)
	}
	return nil
}
