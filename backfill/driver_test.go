package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// choose picks one of n; rapid draws it, or a seed.
type choose func(n int) int

// chance is one in n.
func (c choose) chance(n int) bool { return c(n) == 0 }

// handed is a batch in the hands of the downstream.
type handed struct {
	page
	ack  AckFunc
	done bool
}

// sim runs attempts of one pipeline over one world and one store, and holds the
// oracle: a downstream that knows what it was given.
type sim struct {
	pick    choose
	w       *world
	mem     *checkpoint.Memory
	cfg     Config
	planned map[int]bool // keys that existed when the first plan was made

	sink      map[int]int          // last version written, as a sink without versions has it
	seen      map[int]map[int]bool // versions delivered by anybody, ever
	discarded map[int]bool

	attempts, crashes, hooks int
	mu                       sync.Mutex // the hook runs beside the driver
	faultMu                  sync.Mutex
	faults                   []string // broken invariants
	redeliver                bool
	keepZombies              bool
	noMoreFaults             bool
}

func newSim(pick choose, keys int) *sim {
	s := &sim{
		pick: pick, w: newWorld(keys), mem: checkpoint.NewMemory(),
		sink: map[int]int{}, seen: map[int]map[int]bool{}, discarded: map[int]bool{}, planned: map[int]bool{},
	}
	for k := range keys {
		s.planned[k] = true
	}
	return s
}

func (s *sim) broken(format string, args ...any) {
	s.faultMu.Lock()
	defer s.faultMu.Unlock()
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// attempt is one process's try.
type attempt struct {
	*sim
	store    *mortal
	c        *checkpoint.Committer
	src      *source
	r        *Runner[page]
	rd       *Redelivering[page]
	read     ReadFunc[page]
	out      []*handed
	given    int
	idle     bool // the last read found nothing in its time
	badHooks int  // calls of the hook that fail: drawn beforehand, it runs in a goroutine
}

// begin makes an attempt that dies at its n-th store operation, never if n < 0.
func (s *sim) begin(n int, after bool) *attempt {
	s.attempts++
	a := &attempt{sim: s, store: &mortal{Store: s.mem, left: n, after: after}}
	a.c = checkpoint.NewCommitter(a.store, "p", checkpoint.Interval(50*time.Millisecond), checkpoint.Logger(slog.New(slog.DiscardHandler)))
	a.src = &source{w: s.w, segments: 1 + s.pick(4), pageSize: 1 + s.pick(3)}
	if !s.noMoreFaults {
		a.badHooks = max(0, s.pick(5)-2)
	}
	a.src.hook, a.src.onRead = a.checkHook, a.checkRead
	cfg := s.cfg
	cfg.Committer, cfg.Now = a.c, clock()
	var err error
	if a.r, err = New(a.src, cfg); err != nil {
		panic(err)
	}
	a.read = a.r.Read
	if s.redeliver {
		a.rd, err = Redeliver(a.r.Read, RedeliverConfig[page]{
			Partition: func(p page) string { return p.lane }, MaxHeld: 8,
		})
		if err != nil {
			panic(err)
		}
		a.rd.now = clock()
		a.read = a.rd.Read
	}
	return a
}

// rows reads the store behind everybody's back.
func (s *sim) rows() standing {
	var rows []checkpoint.Checkpoint
	for row, err := range s.mem.List(context.Background(), "p", rowPrefix) {
		if err != nil {
			panic(err)
		}
		rows = append(rows, row)
	}
	st, err := standOf(rows)
	if err != nil {
		panic(err)
	}
	return st
}

// checkRead is called as the source is read.
func (a *attempt) checkRead(half Phase) {
	st := a.rows()
	switch {
	case half == Backfilling && !st.Prepared:
		a.broken("B1: the backfill is read before its plan is durable")
	case half == Backfilling && st.Done && a.src.run.Generation == st.Generation && a.src.run.Attempt == st.DoneFence:
		a.broken("B7: the scan is read again behind the marker")
	case half == Streaming && a.cfg.Handoff == Strict && !st.Done:
		a.broken("B2: the stream is read before the marker is durable")
	}
}

// checkHook is the completion hook.
func (a *attempt) checkHook(context.Context, Summary) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hooks++
	st := a.rows()
	if st.Complete != st.Segments || len(st.Waiting) > 0 {
		a.broken("B2: hook with %d of %d segments complete", st.Complete, st.Segments)
	}
	if open := a.open(Backfilling); open > 0 {
		a.broken("B2: hook with %d batches of this attempt out", open)
	}
	for k := range a.planned {
		if len(a.seen[k]) == 0 && !a.discarded[k] {
			a.broken("lost: key %d was never delivered, and the hook runs", k)
		}
	}
	if a.badHooks > 0 {
		a.badHooks--
		return errors.New("test: the hook fails")
	}
	return nil
}

// open counts what this attempt handed out and nobody settled.
func (a *attempt) open(half Phase) (n int) {
	for _, h := range a.out {
		if !h.done && h.half == half {
			n++
		}
	}
	return n
}

// step does one thing; false: the attempt is over.
func (a *attempt) step() bool {
	if a.store.isDead() {
		return false
	}
	if err := errors.Join(a.r.bf.check(), a.r.st.check()); err != nil {
		a.broken("%v", err)
	}
	switch a.pick(6) {
	case 0, 1, 2:
		return a.readOne()
	case 3:
		if !a.noMoreFaults {
			a.w.write(a.pick(2*len(a.planned) + 1))
		}
	case 4:
		time.Sleep(time.Duration(a.pick(200)) * time.Millisecond)
	case 5:
		a.deliverOne()
	}
	return true
}

func (a *attempt) readOne() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	b, ack, err := a.read(ctx)
	a.idle = errors.Is(err, context.DeadlineExceeded)
	switch {
	case err == nil:
		a.given++
		a.mu.Lock()
		a.out = append(a.out, &handed{page: b, ack: ack})
		a.mu.Unlock()
	case errors.Is(err, ErrFlush), errors.Is(err, context.DeadlineExceeded):
		a.deliverOne()
	case errors.Is(err, errDead):
	case errors.Is(err, ErrEnd), errors.Is(err, ErrStopped):
		return false
	case errors.Is(err, ErrSuperseded), errors.Is(err, checkpoint.ErrFenced), errors.Is(err, ErrNacked),
		errors.Is(err, checkpoint.ErrReleased), strings.Contains(err.Error(), "abandoned"):
		return false
	case errors.Is(err, ErrIncomplete) && a.keepZombies:
		return false // its segments were taken over
	default:
		a.broken("unexpected: %v", err)
		return false
	}
	return true
}

// deliverOne delivers, discards or refuses the oldest batch of some lane: a
// downstream keeps the order of a lane.
func (a *attempt) deliverOne() {
	a.mu.Lock()
	a.out = slices.DeleteFunc(a.out, func(h *handed) bool { return h.done })
	if len(a.out) == 0 {
		a.mu.Unlock()
		return
	}
	h := a.out[a.pick(len(a.out))]
	for _, first := range a.out {
		if first.lane == h.lane {
			h = first
			break
		}
	}
	var word error
	switch {
	case a.noMoreFaults:
	case a.pick.chance(4):
		word = errors.New("test: refused")
	case h.half == Backfilling && a.pick.chance(12):
		word = Discard(nil)
	}
	dropped := Discarded(word) || word != nil && a.cfg.Nack == DiscardNacked && a.rd == nil
	// Noted before the ack: the hook may run the moment it is given.
	h.done = word == nil || dropped || a.rd != nil
	for _, row := range h.rows {
		switch {
		case dropped:
			a.discarded[row.key] = true
		case word == nil:
			a.sink[row.key] = row.version
			if a.seen[row.key] == nil {
				a.seen[row.key] = map[int]bool{}
			}
			a.seen[row.key][row.version] = true
		}
	}
	a.mu.Unlock()

	err := h.ack(context.Background(), word)
	switch {
	case err == nil, errors.Is(err, errDead), errors.Is(err, ErrAttemptOver), word != nil:
	case a.keepZombies && errors.Is(err, checkpoint.ErrFenced):
	default:
		a.broken("ack: %v", err)
	}
	if word == nil {
		if err := h.ack(context.Background(), nil); err == nil {
			a.broken("a second ack of %s is accepted", h.BatchName())
		}
	}
}

// die ends the process: nothing more reaches the store.
func (a *attempt) die() {
	a.store.kill()
	a.finish(true)
}

func (a *attempt) finish(dead bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	if dead {
		cancel()
	}
	defer cancel()
	if a.rd != nil {
		_ = a.rd.Close(ctx)
	}
	_ = a.r.Close(ctx)
	_ = a.c.Close(ctx)
}

// checkDurable holds the durable rows against what was delivered.
func (s *sim) checkDurable() {
	st := s.rows()
	for row, err := range s.mem.List(context.Background(), "p", "") {
		if err != nil {
			panic(err)
		}
		switch {
		case strings.HasPrefix(row.Partition, rowPrefix):
			g, kind, i, n, err := parseName(row.Partition)
			if err != nil || kind != segmentKind || g != st.Generation {
				continue
			}
			upTo := -1
			if row.Position != "" {
				upTo, _ = strconv.Atoi(row.Position)
			}
			for k := range s.planned {
				if k%n == i && (k <= upTo || row.Complete) && len(s.seen[k]) == 0 && !s.discarded[k] {
					s.broken("durable: %s passed key %d, which nobody delivered", row, k)
				}
			}
		case row.Partition == "stream/log" && row.Position != "":
			upTo, _ := strconv.Atoi(row.Position)
			from, _ := strconv.Atoi(st.Plan.Anchor)
			for _, c := range s.w.log[from : upTo+1] {
				if !s.seen[c.key][c.version] && !s.discarded[c.key] {
					s.broken("durable: the stream passed %v, which nobody delivered", c)
				}
			}
		}
	}
}

// settleDown runs one attempt without faults until everything is delivered.
func (s *sim) settleDown() {
	s.noMoreFaults = true
	a := s.begin(-1, false)
	for range 3000 {
		if !a.step() {
			break
		}
		if p := a.r.Phase(); p == Finished || p == Streaming && a.idle && a.r.Stats().Stream.Outstanding == 0 {
			break
		}
	}
	if a.r.Phase() != s.cfg.Mode.last() {
		s.broken("stuck in %s after 3000 steps", a.r.Phase())
	}
	a.finish(false)
	s.checkDurable()
}

// verify counts what the sink is missing in the end.
func (s *sim) verify() (lost, stale int) {
	for k, v := range s.w.version {
		switch {
		case s.discarded[k]:
		case s.cfg.Mode == BackfillOnlyMode:
			if s.planned[k] && len(s.seen[k]) == 0 {
				lost++
			}
		case !s.seen[k][v]:
			lost++
		case s.sink[k] != v:
			stale++
		}
	}
	return lost, stale
}
