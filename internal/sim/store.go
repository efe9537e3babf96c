package sim

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// watched is the store itself: what reaches it has happened, and the oracle sees
// it, whoever asked for it and however late it came.
type watched struct {
	*checkpoint.Memory
	o *oracle
}

func (s watched) Claim(ctx context.Context, k checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	row, err := s.Memory.Claim(ctx, k, owner)
	if err == nil {
		s.o.claimed(row)
	}
	return row, err
}

func (s watched) Save(ctx context.Context, row checkpoint.Checkpoint) error {
	err := s.Memory.Save(ctx, row)
	if err == nil {
		s.o.saved(row)
	}
	return err
}

func (s watched) Delete(ctx context.Context, k checkpoint.Key) error {
	err := s.Memory.Delete(ctx, k)
	if err == nil {
		s.o.deleted(k)
	}
	return err
}

// faults are those of the store: each a function of the seed, the call's key and
// its number.
func (w *world) storeFaults() storetest.Plan {
	f := w.script.StoreFaults
	seeded := storetest.Seeded(w.script.Seed, storetest.Rates{
		Throttled: f / 3, Hung: f / 20, Lost: f / 3, Late: f / 10,
		After:  20 * time.Second,
		Outage: 6, OutageRate: f / 20,
	})
	return func(c storetest.Call) storetest.Fault {
		if w.calm.Load() || f == 0 {
			return storetest.Fault{}
		}
		fault := seeded(c)
		if fault.Kind == storetest.Hung && c.Op != storetest.OpSave {
			fault.Kind = storetest.Throttled // only a save is given up by its caller
		}
		return fault
	}
}

// remote is the store as a worker sees it: away, and out of reach of the dead.
type remote struct {
	a *attempt
	checkpoint.Store
}

func (s remote) Claim(ctx context.Context, k checkpoint.Key, owner string) (row checkpoint.Checkpoint, err error) {
	err = s.a.call(ctx, "claim", k.Partition, func() error {
		row, err = s.Store.Claim(ctx, k, owner)
		return err
	})
	if err == nil {
		s.a.world.oracle.granted(s.a, row)
	}
	return row, err
}

func (s remote) Save(ctx context.Context, row checkpoint.Checkpoint) error {
	s.a.world.oracle.trying(s.a, row.Partition, true)
	defer s.a.world.oracle.trying(s.a, row.Partition, false)
	err := s.a.call(ctx, "save", row.Partition, func() error { return s.Store.Save(ctx, row) })
	if errors.Is(err, checkpoint.ErrFenced) {
		s.a.world.oracle.fenced(s.a, row.Partition)
	}
	return err
}

func (s remote) Load(ctx context.Context, k checkpoint.Key) (row checkpoint.Checkpoint, err error) {
	err = s.a.call(ctx, "load", k.Partition, func() error {
		row, err = s.Store.Load(ctx, k)
		return err
	})
	return row, err
}

func (s remote) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := s.a.call(ctx, "list", prefix, func() error { return nil }); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		s.Store.List(ctx, pipeline, prefix)(yield)
	}
}

func (s remote) HasAny(ctx context.Context, pipeline string) (any bool, err error) {
	err = s.a.call(ctx, "has any", "", func() error {
		any, err = s.Store.HasAny(ctx, pipeline)
		return err
	})
	return any, err
}

func (s remote) Begin(ctx context.Context, pipeline string, o checkpoint.Origin) (standing checkpoint.Origin, created bool, err error) {
	err = s.a.call(ctx, "begin", "", func() error {
		standing, created, err = s.Store.Begin(ctx, pipeline, o)
		return err
	})
	return standing, created, err
}

func (s remote) Delete(ctx context.Context, k checkpoint.Key) error {
	return s.a.call(ctx, "delete", k.Partition, func() error { return s.Store.Delete(ctx, k) })
}
