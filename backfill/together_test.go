package backfill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

// pausing is a store as a process sees it that is paused before some of its
// operations.
type pausing struct {
	checkpoint.Store
	paused, resume chan struct{}

	mu  sync.Mutex
	ops int
	at  map[int]bool
}

func pauseBefore(store checkpoint.Store, at ...int) *pausing {
	p := &pausing{Store: store, paused: make(chan struct{}), resume: make(chan struct{}), at: map[int]bool{}}
	for _, n := range at {
		p.at[n] = true
	}
	return p
}

func (p *pausing) op() {
	p.mu.Lock()
	defer p.mu.Unlock() // nothing of a paused process reaches the store
	if p.at[p.ops] {
		p.paused <- struct{}{}
		<-p.resume
	}
	p.ops++
}

func (p *pausing) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	p.op()
	return p.Store.Claim(ctx, key, owner)
}

func (p *pausing) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	p.op()
	return p.Store.Save(ctx, cp)
}

func (p *pausing) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	p.op()
	return p.Store.List(ctx, pipeline, prefix)
}

func (p *pausing) Delete(ctx context.Context, key checkpoint.Key) error {
	p.op()
	return p.Store.Delete(ctx, key)
}

// contender is an attempt that reads and acks in a goroutine of its own.
type contender struct {
	*rig
	store *pausing
	ended chan struct{}
	err   error // set when ended is closed
}

// contend begins an attempt. late holds every ack back until the barrier asks for
// a flush.
func contend(t *testing.T, s *sim, store *pausing, late bool, setUp ...func(*Config, *source)) *contender {
	r := newRig(t, s, append(setUp, func(cfg *Config, src *source) {
		cfg.Mode = BackfillOnlyMode
		cfg.Committer = checkpoint.NewCommitter(store, "p", checkpoint.Interval(50*time.Millisecond), checkpoint.Logger(slog.New(slog.DiscardHandler)))
		src.segments, src.pageSize = 2, 1
	})...)
	r.c = r.r.cfg.Committer // for its end
	r.src.hook = r.checkHook
	c := &contender{rig: r, store: store, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for {
			b, ack, err := r.read(bg)
			switch {
			case err == nil:
				r.mu.Lock()
				r.out = append(r.out, &handed{page: b, ack: ack})
				r.mu.Unlock()
			case !errors.Is(err, ErrFlush):
				c.err = err
				return
			}
			if err != nil || !late {
				c.ackOpen()
			}
		}
	}()
	return c
}

func (c *contender) ackOpen() {
	for _, h := range c.out {
		if h.done {
			continue
		}
		c.mu.Lock()
		for _, row := range h.rows {
			if c.seen[row.key] == nil {
				c.seen[row.key] = map[int]bool{}
			}
			c.seen[row.key][row.version] = true
		}
		h.done = true
		c.mu.Unlock()
		h.done = h.ack(bg, nil) == nil
	}
}

// await lets the attempt run until it pauses or ends.
func (c *contender) await() (paused bool) {
	select {
	case <-c.store.paused:
		return true
	case <-c.ended:
		return false
	}
}

// goOn lets it run until it pauses again or ends.
func (c *contender) goOn() (paused bool) {
	select {
	case c.store.resume <- struct{}{}:
	case <-c.ended:
		return false
	}
	return c.await()
}

// current reports whether the rows name the attempt.
func (c *contender) current() bool {
	st, run := c.rows(), c.r.run
	return run.Attempt > 0 && st.Generation == run.Generation && st.DoneFence == run.Attempt
}

// judge holds the ends of two attempts against the store, and counts them.
func judge(t *testing.T, ends map[string]int, where string, contenders ...*contender) {
	t.Helper()
	gaveWay := 0
	for _, c := range contenders {
		switch {
		case errors.Is(c.err, ErrEnd):
			ends["end"]++
		case errors.Is(c.err, ErrSuperseded):
			ends["superseded"]++
			gaveWay++
			require.False(t, c.current(), "the newest attempt says that a newer one runs; %s", where)
		case errors.Is(c.err, ErrDisplaced):
			ends["displaced"]++
			require.NotErrorIs(t, c.err, checkpoint.ErrFenced)
			require.True(t, c.current(), "an older attempt asks to be begun again; %s", where)
		default:
			t.Fatal(where)
		}
	}
	require.Less(t, gaveWay, len(contenders), "nobody is left; %s", where)
}

// together runs an older attempt until its i-th operation, a newer one until its
// j-th, the older one on until its k-th, then the newer one to its end and the
// older one to its own. It returns which of these were reached.
func together(t *testing.T, s *sim, ends map[string]int, i, j, k int, late bool, setUp ...func(*Config, *source)) (reachedI, reachedJ, reachedK bool) {
	older := contend(t, s, pauseBefore(s.mem, i, k), late, setUp...)
	if reachedI = older.await(); !reachedI {
		return
	}
	newer := contend(t, s, pauseBefore(s.mem, j), late, setUp...)
	reachedJ = newer.await()
	reachedK = older.goOn()
	if reachedJ {
		require.False(t, newer.goOn())
	}
	if reachedK {
		require.False(t, older.goOn())
	}
	where := fmt.Sprintf("paused before operations %d and %d, then %d: %v; %v", i, j, k, older.err, newer.err)
	judge(t, ends, where, older, newer)

	last := contend(t, s, pauseBefore(s.mem), late, setUp...)
	<-last.ended
	require.ErrorIs(t, last.err, ErrEnd, where)
	require.Empty(t, s.faults, where)
	for key := range s.planned {
		require.NotEmpty(t, s.seen[key], where)
	}
	require.True(t, s.rows().Done)
	return
}

// Whatever two attempts that start together take from each other, one of them
// stays or asks to be begun again: they never both say that somebody else runs.
func TestB4_AttemptsThatStartTogetherNeverBothGiveWay(t *testing.T) {
	type setUp = func(*Config, *source)
	for _, c := range []struct {
		name  string
		late  []bool
		step  int // of k
		begin func(t *testing.T, s *sim) setUp
	}{
		{"fresh", []bool{false}, 1, func(*testing.T, *sim) setUp { return func(*Config, *source) {} }},
		{"in the middle", []bool{true}, 1, func(t *testing.T, s *sim) setUp {
			first := newRig(t, s)
			h := first.next()
			h.deliver(t)
			for _, row := range h.rows {
				s.seen[row.key] = map[int]bool{row.version: true}
			}
			require.NoError(t, first.c.Flush(bg))
			first.die()
			return func(*Config, *source) {}
		}},
		{"restarted", []bool{false}, 7, func(t *testing.T, s *sim) setUp {
			first := newRig(t, s)
			first.next()
			first.die()
			return func(cfg *Config, _ *source) { cfg.Restart = "again" }
		}},
	} {
		for _, late := range c.late {
			t.Run(fmt.Sprintf("%s, late acks %t", c.name, late), func(t *testing.T) {
				ends := map[string]int{}
				moreI := true
				for i := 0; moreI; i++ {
					moreJ := true
					for j := 0; moreI && moreJ; j++ {
						moreK := true
						for k := i + 1; moreI && moreK; k += c.step {
							bubble(t, func(t *testing.T) {
								s := calm(3)
								moreI, moreJ, moreK = together(t, s, ends, i, j, k, late, c.begin(t, s))
							})
							if t.Failed() {
								return
							}
						}
					}
				}
				for _, end := range []string{"end", "superseded", "displaced"} {
					require.Positive(t, ends[end], "%s never happened: %v", end, ends)
				}
				t.Log(ends)
			})
		}
	}
}
