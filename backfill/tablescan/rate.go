package tablescan

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// governor bounds the read units consumed by all segments together. What a page
// costs is known only afterwards, so a page is charged when it came, and the
// next one waits until the debt is paid: the mean is bounded, a single page is
// not.
type governor struct {
	lim *rate.Limiter // nil: no limit

	mu    sync.Mutex
	rest  float64 // of a unit, charged with the next page
	ready time.Time
}

func newGovernor(unitsPerSecond float64) *governor {
	if unitsPerSecond == 0 {
		return &governor{}
	}
	return &governor{lim: rate.NewLimiter(rate.Limit(unitsPerSecond), max(1, int(unitsPerSecond)))}
}

// charge books units. A page may cost more than a second's worth, which the
// limiter takes only in parts.
func (g *governor) charge(units float64, now time.Time) {
	if g.lim == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	units += g.rest
	whole := int(units)
	g.rest = units - float64(whole)
	for whole > 0 {
		part := min(whole, g.lim.Burst())
		if at := now.Add(g.lim.ReserveN(now, part).DelayFrom(now)); at.After(g.ready) {
			g.ready = at
		}
		whole -= part
	}
}

// wait returns when the debt is paid.
func (g *governor) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		d := time.Until(g.ready)
		g.mu.Unlock()
		if g.lim == nil || d <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
