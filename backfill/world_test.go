package backfill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

// world is a table with a stream: keys with versions, and a log of the changes.
type world struct {
	mu      sync.Mutex
	version map[int]int
	log     []change
	changed chan struct{} // room for one: the log grew
}

// size is the length of the log.
func (w *world) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// tail is a copy of at most n of the log from at.
func (w *world) tail(at, n int) []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log[at:min(len(w.log), at+n)])
}

// keys are those that ok accepts with their versions, in order.
func (w *world) keys(ok func(k int) bool) (out []change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, v := range w.version {
		if ok(k) {
			out = append(out, change{k, v})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return a.key - b.key })
	return out
}

type change struct{ key, version int }

func newWorld(keys int) *world {
	w := &world{version: map[int]int{}, changed: make(chan struct{}, 1)}
	for k := range keys {
		w.version[k] = 1 // existed before anybody looked: not in the log
	}
	return w
}

func (w *world) write(key int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version[key]++
	w.log = append(w.log, change{key, w.version[key]})
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// page is a batch of the world: some keys of a segment, or some of the log.
type page struct {
	half Phase
	lane string
	rows []change
}

func (p page) BatchName() string { return fmt.Sprintf("%s %v", p.lane, p.rows) }

// source reads a world for one attempt.
type source struct {
	w        *world
	segments int // of a new plan
	pageSize int
	start    time.Time
	// anchored, if set, replaces the log's length as the anchor's start.
	hook      func(ctx context.Context, s Summary) error
	onRead    func(half Phase)
	noSegment bool // plan 0 segments

	run    Run
	parts  []*checkpoint.Partition[int]
	pos    []int
	sealed []bool
	turn   int
	free   bool // scan without segments: done
	stream *checkpoint.Partition[int]
	at     int // next of the log
	closed int
}

func (s *source) PlanBackfill(context.Context) (Plan, error) {
	p := Plan{Segments: s.segments, Anchor: strconv.Itoa(s.w.size()), StartTime: s.start, Source: "world"}
	if s.noSegment {
		p.Segments = 0
	}
	return p, nil
}

func (s *source) StartBackfill(ctx context.Context, run Run) error {
	s.run = run
	if run.Phase == Backfilling {
		n := run.Plan.Segments
		s.parts, s.pos, s.sealed = make([]*checkpoint.Partition[int], n), make([]int, n), make([]bool, n)
		for i := range n {
			p, at, err := checkpoint.Open(ctx, run.Committer, run.Partition(i), checkpoint.Integer[int]{})
			if err != nil {
				return err
			}
			s.parts[i], s.pos[i], s.sealed[i] = p, -1, at.Complete
			if at.OK {
				s.pos[i] = at.Position
			}
		}
	}
	if run.Phase == Finished {
		return nil
	}
	var at checkpoint.Resumed[int]
	var err error
	s.stream, at, err = checkpoint.Open(ctx, run.Committer, "stream/log", checkpoint.Integer[int]{})
	if err != nil {
		return err
	}
	if s.at, err = strconv.Atoi(run.Plan.Anchor); err != nil {
		return err
	}
	if at.OK {
		s.at = at.Position + 1
	}
	return nil
}

func (s *source) ReadBackfill(ctx context.Context) (page, AckFunc, error) {
	if s.onRead != nil {
		s.onRead(Backfilling)
	}
	if err := ctx.Err(); err != nil {
		return page{}, nil, err
	}
	if len(s.parts) == 0 {
		if s.free {
			return page{}, nil, ErrBackfillComplete
		}
		s.free = true
		pg := page{half: Backfilling, lane: "whole", rows: s.w.keys(func(int) bool { return true })}
		return pg, func(context.Context, error) error { return nil }, nil
	}
	for range s.parts {
		i := s.turn % len(s.parts)
		s.turn++
		if s.sealed[i] {
			continue
		}
		keys := s.w.keys(func(k int) bool { return k%len(s.parts) == i && k > s.pos[i] })
		last := len(keys) <= s.pageSize
		keys = keys[:min(len(keys), s.pageSize)]
		if len(keys) == 0 {
			s.sealed[i] = true
			s.parts[i].Seal()
			continue
		}
		pg := page{half: Backfilling, lane: "segment " + strconv.Itoa(i), rows: keys}
		s.pos[i] = keys[len(keys)-1].key
		t, err := s.parts[i].Track(ctx, s.pos[i], 1)
		if err != nil {
			if lost := s.parts[i].Err(); lost != nil {
				err = lost
			}
			return page{}, nil, err
		}
		if last {
			s.sealed[i] = true
			s.parts[i].Seal()
		}
		return pg, ackOf(s.parts[i], t), nil
	}
	return page{}, nil, ErrBackfillComplete
}

func ackOf(p *checkpoint.Partition[int], t tracker.Ticket[checkpoint.At[int]]) AckFunc {
	return func(ctx context.Context, err error) error {
		if err != nil {
			t.Nack(err)
			return nil
		}
		return p.Ack(ctx, t)
	}
}

func (s *source) ReadStream(ctx context.Context) (page, AckFunc, error) {
	if s.onRead != nil {
		s.onRead(Streaming)
	}
	for s.at >= s.w.size() {
		select {
		case <-s.w.changed:
		case <-ctx.Done():
			return page{}, nil, ctx.Err()
		}
	}
	pg := page{half: Streaming, lane: "stream", rows: s.w.tail(s.at, s.pageSize)}
	end := s.at + len(pg.rows)
	t, err := s.stream.Track(ctx, end-1, 1)
	if err != nil {
		return page{}, nil, err
	}
	s.at = end
	return pg, ackOf(s.stream, t), nil
}

func (s *source) BackfillComplete(ctx context.Context, sum Summary) error {
	if s.hook == nil {
		return nil
	}
	return s.hook(ctx, sum)
}

func (s *source) Close(context.Context) error {
	s.closed++
	for _, p := range s.parts {
		if p != nil {
			p.Abandon()
		}
	}
	if s.stream != nil {
		s.stream.Abandon()
	}
	return nil
}

// A source is an Interleaver: the log's length is its watermark.

func (s *source) Watermark(context.Context) (string, error) { return strconv.Itoa(s.w.size()), nil }

func (s *source) Passed(mark string) bool {
	at, err := strconv.Atoi(mark)
	if err != nil {
		panic(err)
	}
	return s.at >= at
}

func (s *source) Keys(b page) (keys []string) {
	for _, row := range b.rows {
		keys = append(keys, strconv.Itoa(row.key))
	}
	return keys
}

func (s *source) Without(b page, drop map[string]bool) (page, bool) {
	b.rows = slices.DeleteFunc(slices.Clone(b.rows), func(c change) bool { return drop[strconv.Itoa(c.key)] })
	return b, len(b.rows) > 0
}
