package sim

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/internal/jitter"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// world is one run.
type world struct {
	*journal
	script  script
	chance  chance
	service *streamtest.Service // of the region in use
	regions
	arn    string          // of the stream that the table has, or had last
	ended  map[string]bool // streams that were disabled, by ARN
	keys   []string
	store  *storetest.Faulty
	memory *checkpoint.Memory
	oracle *oracle
	calm   atomic.Bool // the store is

	attempts int
	word     string // of the backfill
	words    int
	current  *attempt
	startAt  time.Time
	frozen   []*attempt
	all      []*attempt
}

// Run simulates the world of a seed in a bubble of its own. The event log goes
// to out unless that is nil.
func Run(t *testing.T, seed uint64, out io.Writer) (r Report) {
	scanOrders() // before virtual time begins
	jitter.Fix()
	collect()
	synctest.Test(t, func(*testing.T) { r = run(newScript(seed), out) })
	return r
}

func run(s script, out io.Writer) Report {
	w := &world{journal: newJournal(out), script: s, chance: chance(s.Seed), ended: map[string]bool{}, memory: checkpoint.NewMemory()}
	w.oracle = newOracle(w)
	w.store = storetest.NewFaulty(watched{w.memory, w.oracle}, w.storeFaults())
	cfg := streamtest.Config{
		Seed: s.Seed, Retention: s.Retention, EmptyPages: s.EmptyPages,
		RotateEvery: s.RotateEvery, RotateSpread: s.RotateEvery / 2,
		Inconsistency: streamtest.Inconsistency{Window: 10 * time.Second, Chance: s.Inconsistent, EmptyPages: s.EmptyPages},
	}
	w.service = w.open(cfg)
	w.openRegions(cfg)
	w.arn = w.service.StreamARN(table)
	for i := range s.Keys {
		w.keys = append(w.keys, keyName(i))
	}
	w.log("%s", s)
	w.play()
	w.finish()
	r := w.oracle.report
	r.Seeds, r.Events = 1, w.events
	r.Script, r.Log = s.hash(), fmt.Sprintf("%x", w.hash.Sum(nil))[:16]
	return r
}

// open makes the table in a region.
func (w *world) open(cfg streamtest.Config) *streamtest.Service {
	s := streamtest.New(cfg)
	err := s.CreateTable(streamtest.Table{Name: table, Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: w.script.Shards})
	if err != nil {
		panic(err)
	}
	return s
}

// faults are those of the service's calls.
func (w *world) faults() map[string]streamtest.FaultRates {
	f, m := w.script.Faults/5, w.script.Maimed/2
	faults := streamtest.FaultRates{Throttle: f, LimitExceeded: f, Internal: f, Cut: f, LostAnswer: f, Emptied: m, Torn: m}
	hanging := faults
	hanging.Hang = f / 5
	return map[string]streamtest.FaultRates{"*": faults, "GetRecords": hanging, "GetShardIterator": hanging, "DescribeStream": hanging}
}

// play carries the script out.
func (w *world) play() {
	for _, s := range w.services {
		w.oracle.learn(s)
	}
	for i := range w.script.Rows {
		w.write(i, false)
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond)
	for _, s := range w.services {
		s.SetFaults(w.faults())
	}
	began := time.Now()
	w.supervise()
	for _, a := range w.script.Actions {
		for time.Until(began.Add(a.At)) > 0 {
			time.Sleep(min(time.Second, time.Until(began.Add(a.At))))
			w.supervise()
		}
		w.do(a)
		w.supervise()
	}
}

func (w *world) do(a action) {
	switch a.What {
	case put:
		w.write(a.N, false)
		return
	case remove:
		w.write(a.N, true)
		return
	}
	w.log("%s %d", a.What, a.N)
	switch a.What {
	case rotate, split, rotates, merge:
		w.reshape(a)
	case disable:
		w.disableStream()
	case enable:
		w.enableStream(a)
	case failover:
		w.failOver(a)
	case expire:
		for _, s := range w.services {
			s.ExpireIterators()
		}
	case cut:
		w.store.Cut()
	case heal:
		w.store.Heal()
	case kill:
		w.stop(a.For, (*attempt).kill)
	case drain:
		w.stop(a.For, func(a *attempt) { a.drain(20 * time.Second) })
	case again:
		w.newWord()
		w.oracle.report.Again++
		if a.N == 0 {
			w.stop(a.For, (*attempt).kill)
		} else {
			w.stop(a.For, func(a *attempt) { a.drain(20 * time.Second) })
		}
	case freeze:
		w.stop(a.For, func(a *attempt) {
			a.process.freeze()
			w.frozen = append(w.frozen, a)
			w.oracle.report.Zombies++
		})
	case thaw:
		for _, z := range w.frozen {
			z.process.thaw()
		}
	case bury:
		for _, z := range w.frozen {
			z.kill()
		}
		w.frozen = nil
	}
}

func (w *world) newWord() {
	w.words++
	w.word = fmt.Sprint("again-", w.words)
}

// stop does something to the worker, and has the next one start after a while.
func (w *world) stop(down time.Duration, how func(*attempt)) {
	w.startAt = time.Now().Add(down)
	if w.current != nil {
		how(w.current)
		w.current = nil
	}
}

// supervise starts a worker where there is none, as an operator's supervisor does.
func (w *world) supervise() {
	if a := w.current; a != nil {
		select {
		case <-a.done:
			w.judge(a)
			w.current = nil
			w.startAt = time.Now().Add(w.chance.of("restart", a.n).between(100*time.Millisecond, 5*time.Second))
			a.drain(10 * time.Second)
		default:
		}
	}
	if w.current == nil && !time.Now().Before(w.startAt) {
		w.current = w.start(w.script.settings(w.attempts))
		w.all = append(w.all, w.current)
	}
}

// judge holds the end of a worker against the reasons that there are.
func (w *world) judge(a *attempt) {
	switch {
	case errors.Is(a.err, backfill.ErrAnchorLost):
		w.newWord() // what the error says to do
	case errors.Is(a.err, shards.ErrGap) && w.script.Backfill && w.chance.of("operator", a.n).oneIn(2):
		w.newWord() // else the next attempt may go on
		w.oracle.report.Again++
	case errors.Is(a.err, checkpoint.ErrFenced), errors.Is(a.err, backfill.ErrSuperseded), errors.Is(a.err, backfill.ErrDisplaced):
		w.oracle.report.Fenced++
	}
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	// A segment that was fenced once all was settled is found out late.
	ended := w.ended[a.arn] && (errors.Is(a.err, streamreader.ErrStreamEnded) || errors.Is(a.err, streamreader.ErrStreamGone))
	if !foreseen(a.err) && !ended && !(a.lost && errors.Is(a.err, backfill.ErrIncomplete)) {
		w.oracle.violation(&w.oracle.report.Stuck, "attempt %d ended without a cause: %v", a.n, a.err)
	}
}

func (w *world) write(n int, removed bool) {
	key := keyName(n)
	var c streamtest.Change
	if _, there := w.service.Get(table, streamtest.Item{"id": str(key)}); removed && !there {
		return
	}
	version := len(w.oracle.items[key]) + 1
	w.log("write %s/%d removed %t", key, version, removed)
	c = w.put(w.service, key, version, removed)
	switch {
	case c.ShardID == "":
		c.ShardID, c.Created = w.oracle.noStream(), w.service.Time()
	case !w.oracle.knows(c.ShardID):
		w.oracle.learn(w.service)
	}
	w.replicate(w.oracle.wrote(key, removed, c))
}

func str(s string) *types.AttributeValueMemberS { return &types.AttributeValueMemberS{Value: s} }

func (w *world) reshape(a action) {
	service := w.services[a.N/16%len(w.services)]
	var open []string
	for _, s := range service.Shards(table) {
		if s.Closed.IsZero() {
			open = append(open, s.ID)
		}
	}
	if len(open) == 0 {
		return // disabled
	}
	id := open[a.N%len(open)]
	var err error
	switch {
	case a.What == rotates:
		err = service.Rotate(table)
	case a.What == merge:
		err = errors.New("no neighbour")
		for i := 0; i < len(open) && err != nil; i++ {
			if open[i] != id {
				_, err = service.Merge(table, id, open[i])
			}
		}
	case a.What == split && len(open) < 8:
		_, err = service.Split(table, id)
	default:
		_, err = service.RotateShard(table, id)
	}
	if err != nil {
		w.log("reshape: %v", err)
	}
	w.oracle.learn(service)
}

// disableStream and enableStream replace the table's stream. Workers read the old one
// until they end, and the new one once they start again.
func (w *world) disableStream() {
	if w.ended[w.arn] {
		return
	}
	w.oracle.learn(w.service)
	if err := w.service.DisableStream(table); err != nil {
		panic(err)
	}
	w.ended[w.arn] = true
}

func (w *world) enableStream(a action) {
	if !w.ended[w.arn] {
		return
	}
	arn, err := w.service.EnableStream(table)
	if err != nil {
		panic(err)
	}
	w.oracle.replaced(arn)
	w.oracle.learn(w.service)
	if a.N == 1 {
		w.stop(a.For, (*attempt).kill)
	}
}

// finish stops the faults, leaves one calm worker alone, and counts.
func (w *world) finish() {
	w.log("faults stop")
	w.calm.Store(true)
	w.copies.Wait()
	for _, s := range w.services {
		s.SetFaults(nil)
	}
	w.store.Heal()
	for _, z := range w.frozen {
		z.kill()
	}
	w.stop(0, (*attempt).kill)
	for _, a := range w.all {
		a.kill() // who still drains could claim something back
	}
	w.store.Settle()
	last := w.start(w.script.calm())
	for range 240 {
		time.Sleep(5 * time.Second)
		if w.oracle.excuseUnnamed(); w.oracle.pending() == "" {
			break
		}
		select {
		case <-last.done:
			w.judge(last)
			last.drain(10 * time.Second)
			w.all = append(w.all, last)
			last = w.start(w.script.calm())
		default:
		}
	}
	time.Sleep(10 * time.Second)
	last.drain(minute)
	<-last.over
	w.oracle.final(last)
	w.all = append(w.all, last)
	w.restartInPeace(last)
	for _, a := range w.all {
		a.kill() // what is not over yet
		<-a.over
	}
}

// restartInPeace starts once more after a clean end: nothing is delivered again.
func (w *world) restartInPeace(last *attempt) {
	if w.oracle.report.Bad() || last.drainErr != nil {
		return
	}
	before := w.oracle.report.Duplicates
	a := w.start(w.script.calm())
	time.Sleep(20 * time.Second)
	a.drain(minute)
	<-a.over
	if n := len(a.handed) + len(a.rows); n > 0 {
		w.oracle.violation(&w.oracle.report.DupBound, "after a clean stop %d changes are delivered again (%d before)", n, before)
	}
	w.all = append(w.all, a)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pending names something that has not arrived, "" if there is nothing.
func (o *oracle) pending() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known {
		return "the start of the pipeline"
	}
	if key, missing := o.missingLocked(o.w.keys); missing {
		return "the row " + key
	}
	for _, id := range sorted(o.lanes) {
		l := o.lanes[id]
		if at := o.clearLocked(l); at < len(l.changes) {
			return fmt.Sprintf("%v of shard %s (sequence number %s)", l.changes[at], id, l.changes[at].seq)
		}
	}
	return ""
}

// final is the verdict after a calm worker has drained.
func (o *oracle) final(last *attempt) {
	gone := o.trimmed()
	if what := o.pending(); what != "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.leftBehindLocked() {
			o.violation(&o.report.Lost, "%s was never delivered, and never will be", what)
		} else {
			o.violation(&o.report.Stuck, "%s has not arrived, long after faults stopped", what)
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if last.drainErr != nil {
		o.violation(&o.report.Stuck, "the last worker could not drain: %v", last.drainErr)
	}
	for _, id := range sorted(o.lanes) {
		l := o.lanes[id]
		r, ok := o.rows[l.prefix+id]
		if n := len(l.changes); l.prefix == streamPrefix(o.w.arn) && n > gone[id] && !r.complete && (!ok || r.index < n-1) && o.owedLocked(l.changes[n-1]) && !l.changes[n-1].lost {
			o.violation(&o.report.Stuck, "everything is delivered and drained, but %s of shard %s is not durable", l.changes[n-1], id)
		}
	}
}

// leftBehindLocked reports whether something that never arrived lies behind a durable
// position.
func (o *oracle) leftBehindLocked() bool {
	for id, l := range o.lanes {
		r, ok := o.rows[l.prefix+id]
		if at := o.clearLocked(l); ok && at < len(l.changes) && (r.complete || at <= r.index) {
			return true
		}
	}
	if _, missing := o.missingLocked(o.w.keys); missing {
		return o.rows[fmt.Sprintf("backfill/%d/done", o.generation)].complete
	}
	return false
}
