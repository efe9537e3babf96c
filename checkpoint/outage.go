package checkpoint

import "time"

// When a failing store is reported: from the third failure of one partition in
// a row, and then with growing pauses, however many partitions fail.
const (
	outageTries    = 3
	outagePauseMin = 10 * time.Second
	outagePauseMax = 10 * time.Minute
)

// outage keeps the log quiet while the store is down. Guarded by Committer.mu.
type outage struct {
	next  time.Time // no report before
	pause time.Duration
}

// reportLocked returns what to log, to be called without the lock.
func (o *outage) reportLocked(c *Committer, l *lane) func() {
	now := time.Now()
	if l.failures < outageTries || now.Before(o.next) {
		return func() {}
	}
	o.pause = min(max(2*o.pause, outagePauseMin), outagePauseMax)
	o.next = now.Add(o.pause)
	failing := 0
	for _, other := range c.lanes {
		if other.failures > 0 {
			failing++
		}
	}
	key, err, tries, next := l.key, l.failure, l.failures, o.pause
	return func() {
		c.cfg.log.Warn("checkpoint: saves fail and are repeated; delivery goes on, but a restart now would deliver again what was settled since. Check the store's health, capacity and rights",
			"pipeline", key.Pipeline, "partition", key.Partition, "err", err, "tries", tries,
			"failing_partitions", failing, "next_report_in", next)
	}
}

// overLocked ends the outage with the first success.
func (o *outage) overLocked(c *Committer, l *lane) {
	if o.pause == 0 {
		return
	}
	*o = outage{}
	c.cfg.log.Debug("checkpoint: saves succeed again", "pipeline", l.key.Pipeline, "partition", l.key.Partition)
}
