package backfill

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

var errDead = errors.New("test: the process is dead")

// mortal is a store as one process sees it: at a given operation the process
// dies, before or after the operation took effect, and nothing works any more.
type mortal struct {
	checkpoint.Store
	mu     sync.Mutex
	left   int  // operations until death; negative: immortal
	after  bool // the last one takes effect, its answer is lost
	ops    int
	dead   bool
	look   func() time.Time      // at each operation: what spins, fails
	failOp func(op string) error // injected faults of a living process
}

func (m *mortal) die() (fatal, dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.look == nil {
		m.look = clock()
	}
	m.look()
	if m.dead {
		return false, true
	}
	m.ops++
	if m.left < 0 {
		return false, false
	}
	m.left--
	if m.left < 0 {
		m.dead = true
		return m.after, !m.after
	}
	return false, false
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// do runs op, or what is left of it.
func (m *mortal) do(name string, op func() error) error {
	last, dead := m.die()
	if dead {
		return errDead
	}
	if m.failOp != nil {
		if err := m.failOp(name); err != nil {
			return err
		}
	}
	err := op()
	if last {
		return errDead
	}
	return err
}

func (m *mortal) Claim(ctx context.Context, key checkpoint.Key, owner string) (cp checkpoint.Checkpoint, err error) {
	err = m.do("Claim "+key.Partition, func() error { cp, err = m.Store.Claim(ctx, key, owner); return err })
	return cp, err
}

func (m *mortal) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	return m.do("Save "+cp.Partition, func() error { return m.Store.Save(ctx, cp) })
}

func (m *mortal) Load(ctx context.Context, key checkpoint.Key) (cp checkpoint.Checkpoint, err error) {
	err = m.do("Load "+key.Partition, func() error { cp, err = m.Store.Load(ctx, key); return err })
	return cp, err
}

func (m *mortal) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := m.do("List "+prefix, func() error { return nil }); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		m.Store.List(ctx, pipeline, prefix)(yield)
	}
}

func (m *mortal) Delete(ctx context.Context, key checkpoint.Key) error {
	return m.do("Delete "+key.Partition, func() error { return m.Store.Delete(ctx, key) })
}
