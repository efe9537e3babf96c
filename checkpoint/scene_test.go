package checkpoint_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
	"github.com/ackgate/ackgate/tracker"
)

// Each of these stands for a fault that was found in a public system, told in
// its own words.

var quiet = slog.New(slog.DiscardHandler)

type ticket = tracker.Ticket[checkpoint.At[int]]

// scene is one committer over a store whose faults the test commands.
type scene struct {
	*testing.T
	memory *checkpoint.Memory
	faults atomic.Pointer[storetest.Plan] // nil: none
	store  *storetest.Faulty
	c      *checkpoint.Committer
}

func bubble(t *testing.T, run func(*scene), opts ...checkpoint.Option) {
	synctest.Test(t, func(t *testing.T) {
		b := &scene{T: t, memory: checkpoint.NewMemory()}
		b.store = storetest.NewFaulty(b.memory, func(c storetest.Call) storetest.Fault {
			if plan := b.faults.Load(); plan != nil {
				return (*plan)(c)
			}
			return storetest.Fault{}
		})
		b.c = b.committer(opts...)
		t.Cleanup(func() { // in the bubble, and also after a failure
			b.works()
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_ = b.c.Close(ctx)
			b.store.Settle()
		})
		run(b)
	})
}

func (b *scene) fail(plan storetest.Plan) { b.faults.Store(&plan) }
func (b *scene) works()                   { b.faults.Store(nil) }

func (b *scene) committer(opts ...checkpoint.Option) *checkpoint.Committer {
	opts = append([]checkpoint.Option{checkpoint.Logger(quiet)}, opts...)
	return checkpoint.NewCommitter(b.store, "orders", opts...)
}

func (b *scene) open(c *checkpoint.Committer, name string) *checkpoint.Partition[int] {
	b.Helper()
	p, _, err := checkpoint.Open(b.Context(), c, name, checkpoint.Integer[int]{})
	require.NoError(b, err)
	return p
}

func (b *scene) track(p *checkpoint.Partition[int], positions ...int) (tickets []ticket) {
	b.Helper()
	for _, pos := range positions {
		t, err := p.Track(b.Context(), pos, 1)
		require.NoError(b, err)
		tickets = append(tickets, t)
	}
	return tickets
}

func (b *scene) row(name string) checkpoint.Checkpoint {
	b.Helper()
	cp, err := b.memory.Load(b.Context(), checkpoint.Key{Pipeline: "orders", Partition: name})
	require.NoError(b, err)
	return cp
}

func (b *scene) saves() int { return b.store.Calls(storetest.OpSave) }

// onSave is what every save of one partition meets; of all, if it has no name.
func onSave(name string, f storetest.Fault) func(storetest.Call) storetest.Fault {
	return func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpSave && (name == "" || c.Key.Partition == name) {
			return f
		}
		return storetest.Fault{}
	}
}

func hung(name string) func(storetest.Call) storetest.Fault {
	return onSave(name, storetest.Fault{Kind: storetest.Hung})
}

func always(k storetest.Kind) func(storetest.Call) storetest.Fault {
	return onSave("", storetest.Fault{Kind: k})
}
