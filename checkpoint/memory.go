package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/google/btree"
)

// Memory is a Store in this process's memory, for tests and demos: it outlives
// a Committer but not the process, so it makes nothing durable.
type Memory struct {
	mu      sync.Mutex
	rows    *btree.BTreeG[Checkpoint] // by pipeline, then partition
	origins map[string]Origin
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{
		rows: btree.NewG(16, func(a, b Checkpoint) bool {
			if a.Pipeline != b.Pipeline {
				return a.Pipeline < b.Pipeline
			}
			return a.Partition < b.Partition
		}),
		origins: make(map[string]Origin),
	}
}

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, key Key, owner string) (Checkpoint, error) {
	if err := ready(ctx, key); err != nil {
		return Checkpoint{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	row, _ := m.rows.Get(Checkpoint{Key: key})
	row.Key = key
	row.Fence++
	row.Revision = 0
	row.Owner = owner
	row.UpdatedAt = time.Now().Round(0)
	m.rows.ReplaceOrInsert(row)
	return row, nil
}

// Save implements Store.
func (m *Memory) Save(ctx context.Context, cp Checkpoint) error {
	if err := ready(ctx, cp.Key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	row, ok := m.rows.Get(cp)
	switch {
	case !ok:
		return fmt.Errorf("%w: save %s: the row was deleted", ErrFenced, cp.Key)
	case row.Fence != cp.Fence || row.Owner != cp.Owner || row.Revision > cp.Revision:
		return fmt.Errorf("%w: save %s at fence %d revision %d: fence %d revision %d stands",
			ErrFenced, cp.Key, cp.Fence, cp.Revision, row.Fence, row.Revision)
	case row.Complete && !cp.Complete:
		return fmt.Errorf("%w: save %s", ErrComplete, cp.Key)
	}
	m.rows.ReplaceOrInsert(cp)
	return nil
}

// Load implements Store.
func (m *Memory) Load(ctx context.Context, key Key) (Checkpoint, error) {
	if err := ready(ctx, key); err != nil {
		return Checkpoint{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	row, ok := m.rows.Get(Checkpoint{Key: key})
	if !ok {
		return Checkpoint{}, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return row, nil
}

// List implements Store. It looks the next row up anew for each step, so the
// loop's body runs without the lock.
func (m *Memory) List(ctx context.Context, pipeline, prefix string) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		if err := ValidatePipeline(pipeline); err != nil {
			yield(Checkpoint{}, err)
			return
		}
		from := Key{Pipeline: pipeline, Partition: prefix}
		for {
			if err := ctx.Err(); err != nil {
				yield(Checkpoint{}, err)
				return
			}
			row, ok := m.next(from)
			if !ok || row.Pipeline != pipeline || !strings.HasPrefix(row.Partition, prefix) {
				return
			}
			if !yield(row, nil) {
				return
			}
			from.Partition = row.Partition + "\x00"
		}
	}
}

// next is the first row at or after from.
func (m *Memory) next(from Key) (row Checkpoint, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows.AscendGreaterOrEqual(Checkpoint{Key: from}, func(r Checkpoint) bool {
		row, ok = r, true
		return false
	})
	return row, ok
}

// HasAny implements Store.
func (m *Memory) HasAny(ctx context.Context, pipeline string) (bool, error) {
	if err := readyPipeline(ctx, pipeline); err != nil {
		return false, err
	}
	row, ok := m.next(Key{Pipeline: pipeline})
	if ok && row.Pipeline == pipeline {
		return true, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok = m.origins[pipeline]
	return ok, nil
}

// Begin implements Store.
func (m *Memory) Begin(ctx context.Context, pipeline string, o Origin) (Origin, bool, error) {
	if err := readyPipeline(ctx, pipeline); err != nil {
		return Origin{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if standing, ok := m.origins[pipeline]; ok {
		return standing, false, nil
	}
	m.origins[pipeline] = o
	return o, true, nil
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, key Key) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows.Delete(Checkpoint{Key: key})
	return nil
}

func ready(ctx context.Context, key Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return key.Validate()
}

func readyPipeline(ctx context.Context, pipeline string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ValidatePipeline(pipeline)
}
