package backfill

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

var bg = context.Background()

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

// rig is one attempt under a test's own hands.
type rig struct {
	*attempt
	t *testing.T
}

// newRig begins an attempt on s with set-ups of its configuration and source.
func newRig(t *testing.T, s *sim, setUp ...func(*Config, *source)) *rig {
	t.Helper()
	a := s.begin(-1, false)
	cfg := s.cfg
	cfg.Committer, cfg.Now = a.c, clock()
	a.src.segments, a.src.pageSize = 2, 2
	a.src.hook = nil
	for _, f := range setUp {
		f(&cfg, a.src)
	}
	var err error
	a.r, err = New(a.src, cfg)
	require.NoError(t, err)
	a.read = a.r.Read
	t.Cleanup(func() { a.finish(true) })
	return &rig{a, t}
}

// calm is a sim whose choices are all the first one.
func calm(keys int) *sim { return newSim(func(int) int { return 0 }, keys) }

// clock is the bubble's, and fails what looks at it without end at one moment.
func clock() func() time.Time {
	var mu sync.Mutex
	var last time.Time
	looks := 0
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if !now.Equal(last) {
			last, looks = now, 0
		}
		if looks++; looks > 100_000 {
			panic("test: it spins")
		}
		return now
	}
}

// next reads a batch or fails.
func (r *rig) next() *handed {
	r.t.Helper()
	b, ack, err := r.readFor(time.Hour)
	require.NoError(r.t, err)
	h := &handed{page: b, ack: ack}
	r.out = append(r.out, h)
	return h
}

// nextErr reads an error or fails; the read is given d.
func (r *rig) nextErr(d time.Duration) error {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(bg, d)
	defer cancel()
	b, _, err := r.read(ctx)
	require.Error(r.t, err, "got %s", b.BatchName())
	return err
}

// scanAll reads the whole backfill, of n batches.
func (r *rig) scanAll() (out []*handed) {
	r.t.Helper()
	for {
		b, ack, err := r.readFor(time.Hour)
		if errors.Is(err, ErrFlush) {
			return out
		}
		require.NoError(r.t, err)
		require.Equal(r.t, Backfilling, b.half)
		out = append(out, &handed{page: b, ack: ack})
		r.out = append(r.out, out[len(out)-1])
	}
}

func (h *handed) deliver(t *testing.T) {
	t.Helper()
	require.NoError(t, h.ack(bg, nil))
	h.done = true
}

func ackAll(t *testing.T, hs []*handed) {
	t.Helper()
	for _, h := range hs {
		h.deliver(t)
	}
}

// close is the Runner's, given an hour: what would hang fails.
func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(bg, time.Hour)
	defer cancel()
	require.NoError(r.t, r.r.Close(ctx))
}

// end closes everything, giving up on what is out.
func (r *rig) end() {
	r.finish(true)
}

func (r *rig) row(name string) checkpoint.Checkpoint {
	r.t.Helper()
	row, err := r.mem.Load(bg, checkpoint.Key{Pipeline: "p", Partition: name})
	require.NoError(r.t, err)
	return row
}
