package sim

import (
	"context"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// change is one version of one item, as the writer made it.
type change struct {
	key     string
	version int // of the key, from 1
	removed bool
	shard   *lane
	index   int // in the shard
	seq     string
	created time.Time

	*fate
	first *change // as it was written; itself, unless another region copied it
	other *change // in the other region
}

// fate is what became of a change, wherever it was read.
type fate struct {
	handed, acked bool // by the stream
	lost          bool // trimmed, and reported
}

func (c *change) String() string {
	if c.removed {
		return fmt.Sprintf("%s/%d(removed)", c.key, c.version)
	}
	return fmt.Sprintf("%s/%d", c.key, c.version)
}

// lane is one shard with all that was ever written to it.
type lane struct {
	id, parent string
	service    *streamtest.Service // of its region
	prefix     string              // of its stream's partitions
	changes    []*change
	bySeq      map[string]*change
	named      map[*attempt]bool // to whom some answer named it, as a shard or as a parent
	clear      int               // every change before it is settled
	gapped     int               // a gap was reported from here on, and nothing was read behind it; -1: no
	until      int               // where the gap ends
	reporter   int               // the attempt that reported it
}

// row is a checkpoint as it stands in the store.
type row struct {
	index    int // of the position in the partition's order; -1: none
	complete bool
	text     string
	holder   *attempt
	fence    uint64
}

// oracle knows all that was written, handed out, acked and saved, and counts
// what must not be.
type oracle struct {
	w *world

	mu       sync.Mutex
	report   Report
	items    map[string][]*change
	lanes    map[string]*lane
	rows     map[string]row
	attempts map[string]*attempt

	origin     checkpoint.Origin // as the first attempt found it
	anchor     string            // prefix of the stream that the pipeline, or the generation, began with
	streams    map[string]bool   // by prefix: that it is there instead of another was reported, or need not be
	start      time.Time         // changes from this second on are owed by the stream
	known      bool
	generation uint64
	plan       backfill.Plan
	scanned    map[string]int // highest version acked by the scan of this generation
}

// book is what the oracle knows of one attempt.
type book struct {
	handed   map[*change]int // the stream's, by number of the handout
	rows     map[*change]int // the scan's
	resumed  map[string]int  // partition: where its claim found it
	whole    map[string]bool // or that it was complete
	fences   map[string]uint64
	out      map[string][]*handout
	low      time.Time // of the other region, as the attempt began
	trying   map[string]int
	tried    map[string]time.Time
	checked  bool // the backfill was found to be over
	stopping bool
	endedAt  time.Time
	lost     bool // it met a fence
}

func newBook() book {
	return book{
		handed: map[*change]int{}, rows: map[*change]int{}, resumed: map[string]int{}, whole: map[string]bool{}, fences: map[string]uint64{},
		out: map[string][]*handout{}, trying: map[string]int{}, tried: map[string]time.Time{},
	}
}

func newOracle(w *world) *oracle {
	return &oracle{
		w: w, items: map[string][]*change{}, lanes: map[string]*lane{}, rows: map[string]row{},
		attempts: map[string]*attempt{}, streams: map[string]bool{}, scanned: map[string]int{},
	}
}

// violation counts one of n and keeps the first in words.
func (o *oracle) violation(n *int, format string, args ...any) {
	*n++
	what := fmt.Sprintf(format, args...)
	o.w.log("VIOLATION %s", what)
	if o.report.First == "" {
		o.report.First = fmt.Sprintf("seed %d, %v after the start: %s", o.w.script.Seed, time.Since(o.w.began).Round(time.Millisecond), what)
	}
}

// wrote takes in a change as the service confirmed it.
func (o *oracle) wrote(key string, removed bool, c streamtest.Change) *change {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := &change{key: key, version: len(o.items[key]) + 1, removed: removed, fate: &fate{}}
	n.first = n
	o.appendLocked(c, n)
	o.items[key] = append(o.items[key], n)
	o.report.Changes++
	return n
}

func (o *oracle) appendLocked(c streamtest.Change, n *change) *change {
	l := o.lanes[c.ShardID]
	n.shard, n.index, n.seq, n.created = l, len(l.changes), c.SequenceNumber, c.Created
	l.changes = append(l.changes, n)
	l.bySeq[c.SequenceNumber] = n
	if r := o.rows[l.prefix+l.id]; r.complete {
		o.violation(&o.report.Lost, "shard %s is complete in the store, and still open: %v would be lost", l.id, n)
	}
	return n
}

// learn takes in the shards that the table has in a region.
func (o *oracle) learn(s *streamtest.Service) {
	list, prefix := s.Shards(table), streamPrefix(s.StreamARN(table))
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, sh := range list {
		if o.lanes[sh.ID] == nil {
			o.addLocked(&lane{id: sh.ID, parent: sh.Parent, prefix: prefix, service: s})
		}
	}
}

func (o *oracle) addLocked(l *lane) {
	l.bySeq, l.named, l.gapped = map[string]*change{}, map[*attempt]bool{}, -1
	o.lanes[l.id] = l
}

// noStream is where a change is that is in no stream, as between two of them: behind
// all that the last one held.
func (o *oracle) noStream() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	prefix := streamPrefix(o.w.arn)
	id := "none, behind " + prefix
	if o.lanes[id] == nil {
		o.addLocked(&lane{id: id, prefix: prefix, service: o.w.service})
	}
	return id
}

func (o *oracle) knows(shard string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lanes[shard] != nil
}

func (o *oracle) version(key string, v int) *change {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.items[key][v-1]
}

func (o *oracle) record(shard, seq string) *change {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.lanes[shard]; l != nil {
		return l.bySeq[seq]
	}
	return nil
}

// owedLocked: the stream owes it. A stream's records know their second only, and what
// a stream held that had ended before the pipeline began is not the pipeline's,
// even in the same second.
func (o *oracle) owedLocked(c *change) bool {
	c = c.first
	return o.known && c.shard.prefix >= o.anchor && !c.created.Truncate(time.Second).Before(o.start)
}

func (o *oracle) settledLocked(c *change) bool { return c.acked || c.lost || !o.owedLocked(c) }

// clearLocked is the first change of the shard that is not settled.
func (o *oracle) clearLocked(l *lane) int {
	for l.clear < len(l.changes) && o.settledLocked(l.changes[l.clear]) {
		l.clear++
	}
	return l.clear
}

// scanOwedLocked is the version of the key that the scan has to deliver at least, 0 for
// none: what was there when the backfill began and was never removed since.
func (o *oracle) scanOwedLocked(key string) int {
	if !o.known || !o.w.script.Backfill {
		return 0
	}
	owed := 0
	for _, c := range o.items[key] {
		switch {
		case c.removed:
			owed = 0
			if o.owedLocked(c) {
				return 0
			}
		case !o.owedLocked(c):
			owed = c.version
		}
	}
	return owed
}

// missingLocked is a key that the scan owes, if there is one.
func (o *oracle) missingLocked(keys []string) (string, bool) {
	for _, key := range keys {
		if v := o.scanOwedLocked(key); v > o.scanned[key] {
			return fmt.Sprintf("%s/%d", key, v), true
		}
	}
	return "", false
}

// planIs is told of the plan that an attempt starts with.
func (o *oracle) planIs(a *attempt, run backfill.Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case run.Generation < o.generation:
		return // superseded before it begins; its claims show it
	case run.Generation > o.generation:
		o.generation, o.plan, o.start, o.known = run.Generation, run.Plan, run.Plan.StartTime, true
		o.scanned = map[string]int{}
		o.anchor = streamPrefix(run.Plan.Anchor)
		o.streams = map[string]bool{o.anchor: true}
	case !run.Plan.StartTime.Equal(o.plan.StartTime) || run.Plan.Segments != o.plan.Segments:
		o.violation(&o.report.Regressions, "attempt %d follows another plan of generation %d: from %v in %d segments, not from %v in %d",
			a.n, run.Generation, run.Plan.StartTime, run.Plan.Segments, o.plan.StartTime, o.plan.Segments)
	}
	o.w.log("attempt %d runs generation %d in phase %v", a.n, run.Generation, run.Phase)
}

// originIs is the same of a pipeline without a backfill.
func (o *oracle) originIs(a *attempt, origin checkpoint.Origin, fresh *checkpoint.Freshness) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known || o.start != (time.Time{}) {
		if origin != o.origin {
			o.violation(&o.report.Regressions, "attempt %d begins at %+v, the pipeline began at %+v", a.n, origin, o.origin)
		}
		return
	}
	o.origin, o.anchor = origin, streamPrefix(origin.Source)
	o.streams[o.anchor] = true
	if o.w.script.Failover {
		o.anchor = "" // what one region held is in the other too
		for _, s := range o.w.services {
			o.streams[streamPrefix(s.StreamARN(table))] = true
		}
	}
	o.start = origin.Time
	if o.start.IsZero() || origin.Start == checkpoint.StartTrimHorizon {
		o.start = time.Unix(0, 0)
	}
	if origin.Start == checkpoint.StartTrimHorizon || a.set.ByTime || fresh == nil || !o.w.script.Fresh {
		o.known = true
		return
	}
	// A fresh start at LATEST owes what is written once every shard is positioned.
	go func() {
		select {
		case <-a.stream.Positioned():
		case <-a.process.dead:
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.start, o.known = a.service.Time().Add(time.Second).Truncate(time.Second), true
	}()
}

// backfillIsOver is the completion hook.
func (o *oracle) backfillIsOver(a *attempt, generation uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.log("attempt %d: the backfill of generation %d is over", a.n, generation)
	if generation != o.generation {
		return
	}
	if key, missing := o.missingLocked(o.w.keys); missing {
		o.violation(&o.report.Lost, "attempt %d calls the backfill complete, but %s was never delivered", a.n, key)
	}
}

var segmentName = regexp.MustCompile(`^backfill/(\d+)/segment/(\d+)-of-(\d+)$`)

// scanOrder is the order in which a scan of n segments meets the keys of one.
func (o *oracle) scanOrder(partition string) (keys []string, generation uint64, ok bool) {
	m := segmentName.FindStringSubmatch(partition)
	if m == nil {
		return nil, 0, false
	}
	g, _ := strconv.ParseUint(m[1], 10, 64)
	i, _ := strconv.Atoi(m[2])
	n, _ := strconv.Atoi(m[3])
	return scanOrders()[n][i], g, true
}

func (o *oracle) scanIndex(partition, key string) int {
	keys, _, _ := o.scanOrder(partition)
	for i, k := range keys {
		if k == key {
			return i
		}
	}
	return -1
}

const mostKeys, mostSegments = 40, 5

func keyName(n int) string { return "k" + strconv.Itoa(n) }

// scanOrders asks a service of its own, by number of segments and segment.
var scanOrders = sync.OnceValue(func() map[int][][]string {
	s := streamtest.New(streamtest.Config{})
	if err := s.CreateTable(streamtest.Table{Name: table, Hash: "id"}); err != nil {
		panic(err)
	}
	for i := range mostKeys {
		if _, err := s.Put(table, streamtest.Item{"id": &types.AttributeValueMemberS{Value: keyName(i)}}); err != nil {
			panic(err)
		}
	}
	orders := map[int][][]string{}
	for n := 1; n <= mostSegments; n++ {
		for i := range n {
			out, err := s.Dynamo().Scan(context.Background(), &dynamodb.ScanInput{
				TableName: aws.String(table), Segment: aws.Int32(int32(i)), TotalSegments: aws.Int32(int32(n)),
			})
			if err != nil {
				panic(err)
			}
			var keys []string
			for _, item := range out.Items {
				keys = append(keys, item["id"].(*types.AttributeValueMemberS).Value)
			}
			orders[n] = append(orders[n], keys)
		}
	}
	return orders
})

// streamPrefix is what the partitions of a stream's shards begin with.
func streamPrefix(arn string) string {
	_, label, _ := strings.Cut(arn, "/stream/")
	return "stream/" + label + "/"
}

// shardOf is the shard that a partition is of, whatever stream it is in.
func shardOf(partition string) (id string, ok bool) {
	if rest, is := strings.CutPrefix(partition, "stream/"); is {
		_, id, ok = strings.Cut(rest, "/")
	}
	return id, ok
}

func attemptName(n int) string { return "attempt-" + strconv.Itoa(n) }

// byOwner is the attempt that claimed a row with this owner.
func (o *oracle) byOwnerLocked(owner string) *attempt {
	name, _, _ := strings.Cut(owner, "/")
	return o.attempts[name]
}

func (o *oracle) began(a *attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts[a.name] = a
	a.low = o.lowLocked(streamPrefix(a.arn))
	o.report.Attempts++
}

// gap is told of records that left the stream before they were read. Excused is
// only what has really gone.
func (o *oracle) gap(a *attempt, g shards.Gap) {
	gone := o.trimmed()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.report.Gaps++
	o.w.log("attempt %d gap %s", a.n, g.Error())
	if o.w.script.Failover {
		o.violation(&o.report.Lost, "attempt %d reports a gap, and nothing has left a stream: %v", a.n, g)
	}
	if g.Shard == "" {
		if a.run.Generation == o.generation { // else it is of what that one read
			o.goneStreamsLocked(a)
		}
		return
	}
	l := o.lanes[g.Shard]
	if l == nil {
		return
	}
	from := 0
	if c := l.bySeq[g.After.String()]; c != nil {
		from = c.index + 1
	}
	// The report's far end counts: what goes beyond it must be reported again.
	l.gapped, l.until, l.reporter = from, len(l.changes), a.n
	if c := l.bySeq[g.Before.String()]; c != nil {
		l.until = c.index
	} else if !g.Gone {
		l.until = 1 << 30 // to what is retained when it is read
	}
	o.excuseLocked(l, from, min(l.until, gone[l.id]))
	for _, id := range sorted(o.lanes) {
		other := o.lanes[id]
		if o.relatedLocked(l, other) || o.relatedLocked(other, l) {
			o.excuseLocked(other, 0, gone[other.id])
		}
	}
}

// replaced is told that the table has another stream from now on.
func (o *oracle) replaced(arn string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.arn = arn
	o.report.Replaced++
}

// goneStreamsLocked excuses what the streams before this one still held.
func (o *oracle) goneStreamsLocked(a *attempt) {
	prefix := streamPrefix(a.arn)
	o.streams[prefix] = true
	for _, id := range sorted(o.lanes) {
		if l := o.lanes[id]; l.prefix < prefix { // labels are instants
			o.excuseLocked(l, 0, len(l.changes))
		}
	}
}

// named is told what an answer to an attempt named.
func (o *oracle) named(a *attempt, ids ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		if l := o.lanes[id]; l != nil {
			l.named[a] = true
		}
	}
}

// excuseUnnamed excuses what nobody can know of: a shard that merged, that its child
// does not name as its parent, and that has left the stream without a checkpoint.
// Whoever an answer had named it to died before it was its turn, and left no trace
// of it; no answer will name it again.
func (o *oracle) excuseUnnamed() {
	gone := o.trimmed()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range sorted(o.lanes) {
		l := o.lanes[id]
		n := len(l.changes)
		if _, row := o.rows[l.prefix+id]; !o.w.script.Merges || row || n == 0 || gone[id] < n || l.prefix != streamPrefix(o.w.arn) {
			continue
		}
		known := false
		for a := range l.named {
			known = known || a.endedAt.IsZero()
		}
		if !known {
			o.excuseLocked(l, 0, n)
		}
	}
}

// closeGap ends the shard's gap where reading goes on: what left between the report
// and the read is within it as far as the report said.
func (o *oracle) closeGap(l *lane, at int) {
	gone := o.trimmed()
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.gapped >= 0 {
		// Until something behind it has arrived: a crash before that resumes at
		// what is retained then.
		o.excuseLocked(l, l.gapped, min(gone[l.id], at, l.until))
	}
}

func (o *oracle) relatedLocked(child, parent *lane) bool {
	for id := child.parent; id != ""; {
		if id == parent.id {
			return true
		}
		p := o.lanes[id]
		if p == nil {
			return false
		}
		id = p.parent
	}
	return false
}

func (o *oracle) excuseLocked(l *lane, from, to int) {
	for _, c := range l.changes[min(from, to):to] {
		if !c.acked && !c.lost {
			c.lost = true
			o.w.log("gone and reported: %v of shard %s", c, l.id)
		}
	}
}

// trimmed is how many of each shard's changes have left the stream.
func (o *oracle) trimmed() map[string]int {
	first := map[string]string{}
	for _, s := range o.service().Shards(table) {
		first[s.ID] = s.First
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := map[string]int{}
	horizon := time.Now().Add(-o.w.script.Retention)
	for id, l := range o.lanes {
		gone[id] = len(l.changes)
		if c := l.bySeq[first[id]]; c != nil {
			gone[id] = c.index
		} else if l.prefix != streamPrefix(o.w.arn) { // the service tells of the table's own stream only
			gone[id] = sort.Search(len(l.changes), func(i int) bool { return l.changes[i].created.After(horizon) })
		}
	}
	return gone
}
