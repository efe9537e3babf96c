package sim

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// lowWatermark is the row beside a stream's shards that another region resumes by.
const lowWatermark = "low-watermark"

// regions are two replicas of one table. What is written to the one that is in use
// reaches the other later, is dated later by another clock, and lies in other shards
// under other numbers, in the order of its keys. Nothing is written over there
// while something is on its way: which of two versions wins is not for a stream to say.
type regions struct {
	services []*streamtest.Service // in use first is 0
	now      int                   // which is in use
	copies   sync.WaitGroup
	due      time.Time // of the last copy
	n        int       // copies made
}

// openRegions adds the second region.
func (w *world) openRegions(cfg streamtest.Config) {
	w.services = []*streamtest.Service{w.service}
	if !w.script.Failover {
		return
	}
	time.Sleep(time.Second) // the streams' labels differ
	cfg.Seed, cfg.Region = cfg.Seed^0xfa4, "eu-west-1"
	cfg.Now = func() time.Time { return time.Now().Add(w.script.Skew) }
	w.services = append(w.services, w.open(cfg))
	time.Sleep(max(0, w.script.Skew)) // older than the pipeline, by either clock
}

// replicate brings a change to the other region.
func (w *world) replicate(c *change) {
	if !w.script.Failover {
		return
	}
	to := w.services[1-w.now]
	w.n++
	due := time.Now().Add(w.chance.of("lag", w.n).between(50*time.Millisecond, w.script.Lag))
	if !due.After(w.due) {
		due = w.due.Add(time.Microsecond)
	}
	w.due = due
	w.copies.Add(1)
	time.AfterFunc(time.Until(due), func() {
		defer w.copies.Done()
		got := w.put(to, c.key, c.version, c.removed)
		w.oracle.learn(to)
		w.oracle.copied(c, got)
	})
}

// failOver has the region in use become unreachable, and everything go on in the
// other one, which can be reached again. N 1: calls hang rather than fail; N 2 and 3:
// the worker over there is not killed.
func (w *world) failOver(a action) {
	w.copies.Wait()
	lost := streamtest.FaultRates{Cut: 1}
	if a.N%2 == 1 {
		lost = streamtest.FaultRates{Hang: 1}
	}
	w.service.SetFaults(map[string]streamtest.FaultRates{"*": lost})
	w.oracle.failedOver(1 - w.now)
	w.service.SetFaults(w.faults())
	w.stop(a.For, func(at *attempt) {
		if a.N < 2 {
			at.kill()
			return
		}
		w.frozen = append(w.frozen, at) // to be buried with the zombies
		w.oracle.report.Zombies++
	})
}

// put writes one version to one region.
func (w *world) put(to *streamtest.Service, key string, version int, removed bool) (c streamtest.Change) {
	item, err := streamtest.Item{"id": str(key)}, error(nil)
	if removed {
		c, err = to.Delete(table, item)
	} else {
		item["v"] = number(version)
		c, err = to.Put(table, item)
	}
	if err != nil {
		panic(err)
	}
	return c
}

// failedOver is told that another region is in use.
func (o *oracle) failedOver(region int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.w
	w.now, w.service = region, w.services[region]
	w.arn = w.service.StreamARN(table)
	o.report.Failovers++
}

// service is the one in use.
func (o *oracle) service() *streamtest.Service {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.service
}

// copied takes in what a change has become in the other region. What happens to
// either happens to both.
func (o *oracle) copied(c *change, as streamtest.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	copied := o.appendLocked(as, &change{key: c.key, version: c.version, removed: c.removed, fate: c.fate, first: c.first})
	c.other, copied.other = copied, c
}

// besideLocked is the same change as this one, in the region of that one; nil if it
// has not come there.
func besideLocked(c, there *change) *change {
	if c.shard.service == there.shard.service {
		return c
	}
	return c.other
}

// savedLowLocked holds a low watermark against what the sink has: what is older, less
// the margin, is left out in the other region.
func (o *oracle) savedLowLocked(partition, position string, was int) int {
	low, err := time.Parse(time.RFC3339, position)
	if err != nil {
		if position != "" {
			o.violation(&o.report.Lost, "%s rests at %s, which is no time", partition, position)
		}
		return was
	}
	prefix := strings.TrimSuffix(partition, lowWatermark)
	for _, id := range sorted(o.lanes) {
		l := o.lanes[id]
		if l.prefix != prefix {
			continue
		}
		if at := o.clearLocked(l); at < len(l.changes) && l.changes[at].created.Truncate(time.Second).Before(low.Add(-o.w.script.Margin)) {
			o.violation(&o.report.Lost, "%s is durable at %s, but %v of shard %s, of %v, was never delivered: a fail-over now loses it",
				partition, position, l.changes[at], id, l.changes[at].created)
		}
	}
	return int(low.Unix())
}

// lowLocked is the newest low watermark of the streams of other regions.
func (o *oracle) lowLocked(prefix string) (low time.Time) {
	for name, r := range o.rows {
		if strings.HasSuffix(name, "/"+lowWatermark) && !strings.HasPrefix(name, prefix) && r.index > 0 {
			if t := time.Unix(int64(r.index), 0); t.After(low) {
				low = t
			}
		}
	}
	return low
}

// leftOutLocked checks that what was settled long before a fail-over does not come again.
func (o *oracle) leftOutLocked(a *attempt, c *change) {
	if since := a.low.Add(-o.w.script.Margin); !a.low.IsZero() && c.created.Truncate(time.Second).Before(since) {
		o.violation(&o.report.DupBound, "attempt %d hands out %v of %v, and everything before %v was settled in the other region", a.n, c, c.created, since)
	}
}

func number(n int) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}
