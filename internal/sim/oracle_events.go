package sim

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// handed checks a batch as it is handed out.
func (o *oracle) handed(a *attempt, h *handout) {
	if h.shard != nil && h.shard.gapped >= 0 && h.changes[0].index >= h.shard.gapped { // not one redelivered
		o.closeGap(h.shard, h.changes[0].index)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.log("attempt %d hand %v", a.n, h)
	a.out[h.partition] = append(a.out[h.partition], h)
	seen := a.handed
	if h.scan {
		seen = a.rows
	}
	again := false
	for _, c := range h.changes {
		at := c.index
		if h.scan {
			at = o.scanIndex(h.partition, c.key)
		}
		if n, ok := seen[c]; ok {
			again = true
			if !a.set.Redeliver {
				o.violation(&o.report.DupBound, "attempt %d hands %v out again in batch %d, after batch %d", a.n, c, h.number, n)
			}
		}
		seen[c] = h.number
		if a.whole[h.partition] || at <= o.resumedAt(a, h.partition) {
			o.violation(&o.report.DupBound, "attempt %d hands %v out, which was durable in %s when it claimed it", a.n, c, h.partition)
		}
	}
	if h.scan {
		return
	}
	if !again {
		o.inOrderLocked(a, h)
	}
	for _, c := range h.changes {
		o.leftOutLocked(a, c)
		if c.handed {
			o.report.Duplicates++
		}
		c.handed = true
	}
}

func (o *oracle) resumedAt(a *attempt, partition string) int {
	if i, ok := a.resumed[partition]; ok {
		return i
	}
	return -1
}

// inOrderLocked checks that nothing overtakes what it depends on.
func (o *oracle) inOrderLocked(a *attempt, h *handout) {
	if o.w.script.Backfill && !o.w.script.Overlap && !a.checked && a.run.Generation == o.generation {
		a.checked = true
		if key, missing := o.missingLocked(o.w.keys); missing {
			o.violation(&o.report.Order, "attempt %d reads the stream, but %s of the backfill was never delivered", a.n, key)
		}
	}
	if !o.streams[h.shard.prefix] && a.run.Generation == o.generation {
		o.violation(&o.report.Lost, "attempt %d reads the stream of %s, and never said that it is not the one that the pipeline read", a.n, h.partition)
	}
	if p := o.lanes[h.shard.parent]; p != nil && a.set.Order == shards.Strict {
		if at := o.clearLocked(p); at < len(p.changes) {
			o.violation(&o.report.Order, "attempt %d reads shard %s, but %v of its parent %s was never delivered", a.n, h.shard.id, p.changes[at], p.id)
		}
	}
	for _, c := range h.changes {
		if c.handed || c.version == 1 {
			continue
		}
		before := besideLocked(o.items[c.key][c.version-2], c)
		if before == nil {
			continue
		}
		if o.w.script.Merges && before.shard != c.shard && !o.relatedLocked(c.shard, before.shard) {
			continue // the parent that a merge does not name is not waited for
		}
		if o.w.script.Relaxed && before.shard != c.shard {
			continue
		}
		if o.owedLocked(before) && !before.handed && !before.lost && !inBatch(h, before) {
			o.violation(&o.report.Order, "attempt %d hands %v out for the first time, but never handed out %v of shard %s", a.n, c, before, before.shard.id)
		}
	}
}

func inBatch(h *handout, c *change) bool {
	for _, other := range h.changes {
		if other == c {
			return true
		}
	}
	return false
}

// acked is the sink's: the batch has arrived.
func (o *oracle) acked(a *attempt, h *handout) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.log("attempt %d ack %d", a.n, h.number)
	h.ackedAt = time.Now()
	for _, c := range h.changes {
		if !h.scan {
			c.acked = true
			// What a zombie from before the report delivers does not say where
			// the reporter goes on.
			if c.index >= c.shard.gapped && a.n >= c.shard.reporter {
				c.shard.gapped = -1
			}
		} else if a.run.Generation == o.generation {
			o.scanned[c.key] = max(o.scanned[c.key], c.version)
		}
	}
}

// claimed sees a claim that was applied.
func (o *oracle) claimed(cp checkpoint.Checkpoint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.byOwnerLocked(cp.Owner)
	o.w.log("claim %s fence %d by %s", cp.Partition, cp.Fence, name(a))
	r, known := o.rows[cp.Partition]
	if !known {
		r.index = -1
	}
	if r.holder != nil && r.holder != a {
		o.promptLocked(r.holder, cp.Partition)
	}
	r.holder, r.fence = a, cp.Fence
	o.rows[cp.Partition] = r
}

// granted is told that the answer of a claim has reached the attempt.
func (o *oracle) granted(a *attempt, cp checkpoint.Checkpoint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.rows[cp.Partition]
	if r.fence != cp.Fence || r.holder != a {
		r = row{index: -1} // superseded already: whatever it hands out comes again
	}
	a.resumed[cp.Partition], a.whole[cp.Partition], a.fences[cp.Partition] = r.index, r.complete, cp.Fence
	a.out[cp.Partition] = nil
}

func name(a *attempt) string {
	if a == nil {
		return "the runner"
	}
	return a.name
}

var keyInPosition = regexp.MustCompile(`"(k\d+)"`)

// saved holds a row that was written against what the sink has.
func (o *oracle) saved(cp checkpoint.Checkpoint) {
	shard, isShard := shardOf(cp.Partition)
	if shard == lowWatermark {
		isShard = false
	}
	if isShard && !o.knows(shard) {
		o.learn(o.service()) // it has rotated by itself
	} else if isShard && cp.Complete {
		o.closeGap(o.lanes[shard], 1<<30) // it ends without another record
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.byOwnerLocked(cp.Owner)
	r := o.rows[cp.Partition]
	was := r
	r.text, r.complete = cp.Position, cp.Complete
	o.w.log("save %s position %s complete %t", cp.Partition, cp.Position, cp.Complete)
	if was.complete && !cp.Complete {
		o.violation(&o.report.Regressions, "%s was complete and is not any more", cp.Partition)
	}
	keys, generation, segment := o.scanOrder(cp.Partition)
	switch {
	case shard == lowWatermark:
		r.index = o.savedLowLocked(cp.Partition, cp.Position, r.index)
	case segment:
		r.index = o.savedSegmentLocked(cp, keys, generation, r.index)
	case isShard:
		r.index = o.savedShardLocked(cp, o.lanes[shard], r.index)
	case strings.HasSuffix(cp.Partition, "/plan"):
		if was.text != "" && was.text != cp.Position {
			o.violation(&o.report.Regressions, "%s changed from %s to %s", cp.Partition, was.text, cp.Position)
		}
	case strings.HasSuffix(cp.Partition, "/done"):
		if cp.Complete && !was.complete && strings.HasPrefix(cp.Partition, fmt.Sprintf("backfill/%d/", o.generation)) {
			if key, missing := o.missingLocked(o.w.keys); missing {
				o.violation(&o.report.Lost, "the backfill is marked done, but %s was never delivered", key)
			}
		}
	}
	if r.index < was.index {
		o.violation(&o.report.Regressions, "%s went back from %s to %s", cp.Partition, was.text, cp.Position)
	}
	o.rows[cp.Partition] = r
	if a != nil {
		for len(a.out[cp.Partition]) > 0 && (a.out[cp.Partition][0].last <= r.index || r.complete) {
			a.out[cp.Partition] = a.out[cp.Partition][1:]
		}
	}
}

func (o *oracle) savedShardLocked(cp checkpoint.Checkpoint, l *lane, was int) int {
	if l == nil {
		o.violation(&o.report.Lost, "a checkpoint of a shard that does not exist: %s", cp.Partition)
		return was
	}
	index := was
	if cp.Position != "" {
		c := l.bySeq[cp.Position]
		if c == nil && (cp.Complete || cp.Position == "0") { // the end of a shard with nothing read
			c = &change{index: was} // of which only that counts
		}
		if c == nil {
			o.violation(&o.report.Lost, "%s rests at %s, which is no record of it", cp.Partition, cp.Position)
			return was
		}
		index = c.index
	}
	until := index
	if cp.Complete {
		until = len(l.changes) - 1
	}
	if at := o.clearLocked(l); at <= until {
		o.violation(&o.report.Lost, "%s is durable at %s complete %t, but %v before it was never delivered: a crash now loses it",
			cp.Partition, cp.Position, cp.Complete, l.changes[at])
	}
	return index
}

func (o *oracle) savedSegmentLocked(cp checkpoint.Checkpoint, keys []string, generation uint64, was int) int {
	index := was
	if cp.Position != "" {
		m := keyInPosition.FindStringSubmatch(cp.Position)
		if m == nil {
			o.violation(&o.report.Lost, "%s rests at %s, which is no key", cp.Partition, cp.Position)
			return was
		}
		index = o.scanIndex(cp.Partition, m[1])
	}
	if cp.Complete {
		index = len(keys)
	}
	if generation == o.generation {
		if key, missing := o.missingLocked(keys[:min(index+1, len(keys))]); missing {
			o.violation(&o.report.Lost, "%s is durable at %s complete %t, but %s before it was never delivered: a crash now loses it",
				cp.Partition, cp.Position, cp.Complete, key)
		}
	}
	return index
}

func (o *oracle) deleted(k checkpoint.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.log("delete %s", k.Partition)
	delete(o.rows, k.Partition)
}

// trying is told when an attempt begins and ends to save a partition.
func (o *oracle) trying(a *attempt, partition string, begins bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if begins {
		a.trying[partition]++
		return
	}
	a.trying[partition]--
	a.tried[partition] = time.Now()
}

// fenced is told that an attempt learned of its loss: it saves no more.
func (o *oracle) fenced(a *attempt, partition string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.log("attempt %d is fenced from %s", a.n, partition)
	a.out[partition] = nil
	a.lost = true
}

// ended is told that an attempt is over.
func (o *oracle) ended(a *attempt, crash bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if crash {
		o.report.Crashes++
		for _, partition := range sorted(a.out) {
			o.promptLocked(a, partition)
		}
	}
	a.stopping, a.endedAt = true, time.Now()
}

// promptLocked checks, as the attempt loses the partition, that all it had delivered was
// durable but for the last commit interval, and the time of saves that failed:
// that is all that is then delivered again, besides what was in flight.
func (o *oracle) promptLocked(a *attempt, partition string) {
	out := a.out[partition]
	if r := o.rows[partition]; r.holder != a || r.fence != a.fences[partition] {
		return // lost before, to a claim that came late or to a newer one
	}
	if len(out) == 0 || out[0].ackedAt.IsZero() || a.trying[partition] > 0 || a.stopping || o.w.script.Overlap {
		return
	}
	since := out[0].ackedAt
	if t := a.tried[partition]; t.After(since) {
		since = t
	}
	if late := time.Since(since); late > a.set.Interval+backoffMax+saveTimeout+time.Second {
		o.violation(&o.report.DupBound, "attempt %d lost %s, and had not tried for %v to save %v: the interval is %v",
			a.n, partition, late.Round(time.Millisecond), out[0], a.set.Interval)
	}
}
