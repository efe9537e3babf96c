package lambdaids

import (
	"context"
	"sync"
	"sync/atomic"
)

// lanes are what is processed in order: heads are the first records of the lanes,
// next links each record to the next one of its lane, -1 at the end.
type lanes struct {
	heads, next []int32
	tails       map[string]int32 // last record of each lane, while splitting
}

// split puts the records of n into lanes by key.
func (s *lanes) split(n int, key func(int) string) {
	s.heads, s.next = s.heads[:0], s.next[:0]
	if s.tails == nil {
		s.tails = make(map[string]int32)
	}
	for i := range int32(n) {
		s.next = append(s.next, -1)
		k := key(int(i))
		if tail, ok := s.tails[k]; ok {
			s.next[tail] = i
		} else {
			s.heads = append(s.heads, i)
		}
		s.tails[k] = i
	}
	clear(s.tails)
}

// singles makes each of n records a lane of its own.
func (s *lanes) singles(n int) {
	s.heads, s.next = s.heads[:0], s.next[:0]
	for i := range int32(n) {
		s.heads = append(s.heads, i)
		s.next = append(s.next, -1)
	}
}

// concurrent runs the lanes side by side, each in order, and returns the first
// unsettled record.
func (p *Processor[R, ID]) concurrent(ctx context.Context, l *ledger[R, ID], s *lanes) int {
	n := len(l.recs)
	switch {
	case l.src.group != nil:
		s.split(n, func(i int) string { return l.src.group(&l.recs[i]) })
	case p.cfg.Key != nil:
		s.split(n, func(i int) string { return p.cfg.Key(&l.recs[i]) })
	default:
		s.singles(n)
	}

	var (
		taken atomic.Int64 // lanes handed out
		bound atomic.Int64 // no record from here on is started
		mu    sync.Mutex   // guards l.errs
		wg    sync.WaitGroup
	)
	bound.Store(int64(n))
	shared := p.cfg.AfterFailure == StopAll || (p.cfg.AfterFailure == Stop && l.src.kind.Rewinds())
	lane := func(i int) {
		for ; i >= 0; i = int(s.next[i]) {
			if int64(i) >= bound.Load() {
				return
			}
			p.record(ctx, l, i, &mu)
			if l.states[i].settled() {
				continue
			}
			if shared {
				lower(&bound, int64(i))
			}
			if shared || (p.cfg.AfterFailure == Stop && l.src.kind.Ordered()) {
				return
			}
		}
	}
	for range min(p.cfg.Concurrency, len(s.heads)) {
		wg.Go(func() {
			for {
				k := taken.Add(1) - 1
				if k >= int64(len(s.heads)) {
					return
				}
				lane(int(s.heads[k]))
			}
		})
	}
	wg.Wait()
	return l.firstUnsettled()
}

// record runs one record to its end, unless the time is over.
func (p *Processor[R, ID]) record(ctx context.Context, l *ledger[R, ID], i int, mu *sync.Mutex) {
	_, err := p.run(ctx, l.recs[:i+1], i)
	switch err {
	case nil:
		l.states[i] = Done
		return
	case errStopped:
		return
	}
	state, err := p.settle(ctx, l.recs, i, err)
	mu.Lock()
	defer mu.Unlock()
	l.mark(i, state, err)
}

func lower(bound *atomic.Int64, to int64) {
	for {
		have := bound.Load()
		if to >= have || bound.CompareAndSwap(have, to) {
			return
		}
	}
}
