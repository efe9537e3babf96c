package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// Op names a method of checkpoint.Store.
type Op string

// The methods.
const (
	OpClaim  Op = "Claim"
	OpSave   Op = "Save"
	OpLoad   Op = "Load"
	OpList   Op = "List"
	OpHasAny Op = "HasAny"
	OpBegin  Op = "Begin"
	OpDelete Op = "Delete"
)

// Kind is what goes wrong with a call.
type Kind int

const (
	// None: nothing goes wrong.
	None Kind = iota
	// Throttled: refused with ErrThrottled, not applied.
	Throttled
	// Hung: not applied, and never answered: ends with ctx.
	Hung
	// Lost: applied, but the answer is lost: ErrLost.
	Lost
	// Late: answered with ErrLost now, applied Fault.After later, when the
	// caller has long gone on. For calls that only read it is Lost.
	Late
)

// Fault is what happens to one call.
type Fault struct {
	Kind  Kind
	Delay time.Duration // before anything else happens
	After time.Duration // of Late
}

// Call is one call of a method. Key.Partition is empty for List, HasAny and
// Begin.
type Call struct {
	Op  Op
	Key checkpoint.Key
	N   int // counts the calls of this Op with this Key, from 1
}

// Plan decides what happens to a call. It is called for one call at a time.
type Plan func(Call) Fault

var (
	// ErrThrottled is the answer to a Throttled call.
	ErrThrottled = errors.New("storetest: throttled")
	// ErrLost is the answer to Lost and Late calls.
	ErrLost = errors.New("storetest: connection lost, the call may have been applied")
)

// Faulty is a Store on which calls fail as its Plan says.
type Faulty struct {
	inner checkpoint.Store
	plan  Plan
	late  sync.WaitGroup

	mu    sync.Mutex
	calls map[Call]int // N of the last call; the key's own N is 0
	byOp  map[Op]int
	cut   chan struct{} // closed by Heal; nil: not cut
}

var _ checkpoint.Store = (*Faulty)(nil)

// NewFaulty wraps inner. A nil plan lets every call through.
func NewFaulty(inner checkpoint.Store, plan Plan) *Faulty {
	if plan == nil {
		plan = func(Call) Fault { return Fault{} }
	}
	return &Faulty{inner: inner, plan: plan, calls: make(map[Call]int), byOp: make(map[Op]int)}
}

// Cut separates the caller from the store: calls hang until Heal or the end of
// their ctx, and are not applied. False: it was cut before.
func (f *Faulty) Cut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return false
	}
	f.cut = make(chan struct{})
	return true
}

// Heal ends Cut. False: it was not cut.
func (f *Faulty) Heal() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut == nil {
		return false
	}
	close(f.cut)
	f.cut = nil
	return true
}

// Calls counts the calls of a method so far, failed ones included.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byOp[op]
}

// Settle waits until no Late call is on its way any more.
func (f *Faulty) Settle() { f.late.Wait() }

// Claim implements checkpoint.Store.
func (f *Faulty) Claim(ctx context.Context, key checkpoint.Key, owner string) (cp checkpoint.Checkpoint, err error) {
	err = f.call(ctx, OpClaim, key, func(ctx context.Context) error {
		var err error
		cp, err = f.inner.Claim(ctx, key, owner)
		return err
	}, func(ctx context.Context) { _, _ = f.inner.Claim(ctx, key, owner) })
	if err != nil {
		cp = checkpoint.Checkpoint{}
	}
	return cp, err
}

// Save implements checkpoint.Store.
func (f *Faulty) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	return f.call(ctx, OpSave, cp.Key,
		func(ctx context.Context) error { return f.inner.Save(ctx, cp) },
		func(ctx context.Context) { _ = f.inner.Save(ctx, cp) })
}

// Load implements checkpoint.Store.
func (f *Faulty) Load(ctx context.Context, key checkpoint.Key) (cp checkpoint.Checkpoint, err error) {
	err = f.call(ctx, OpLoad, key, func(ctx context.Context) error {
		var err error
		cp, err = f.inner.Load(ctx, key)
		return err
	}, nil)
	if err != nil {
		cp = checkpoint.Checkpoint{}
	}
	return cp, err
}

// List implements checkpoint.Store. A fault comes before the first row.
func (f *Faulty) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		err := f.call(ctx, OpList, checkpoint.Key{Pipeline: pipeline}, func(context.Context) error { return nil }, nil)
		if err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		f.inner.List(ctx, pipeline, prefix)(yield)
	}
}

// HasAny implements checkpoint.Store.
func (f *Faulty) HasAny(ctx context.Context, pipeline string) (any bool, err error) {
	err = f.call(ctx, OpHasAny, checkpoint.Key{Pipeline: pipeline}, func(ctx context.Context) error {
		var err error
		any, err = f.inner.HasAny(ctx, pipeline)
		return err
	}, nil)
	return any && err == nil, err
}

// Begin implements checkpoint.Store.
func (f *Faulty) Begin(ctx context.Context, pipeline string, o checkpoint.Origin) (standing checkpoint.Origin, created bool, err error) {
	err = f.call(ctx, OpBegin, checkpoint.Key{Pipeline: pipeline}, func(ctx context.Context) error {
		var err error
		standing, created, err = f.inner.Begin(ctx, pipeline, o)
		return err
	}, func(ctx context.Context) { _, _, _ = f.inner.Begin(ctx, pipeline, o) })
	if err != nil {
		return checkpoint.Origin{}, false, err
	}
	return standing, created, nil
}

// Delete implements checkpoint.Store.
func (f *Faulty) Delete(ctx context.Context, key checkpoint.Key) error {
	return f.call(ctx, OpDelete, key,
		func(ctx context.Context) error { return f.inner.Delete(ctx, key) },
		func(ctx context.Context) { _ = f.inner.Delete(ctx, key) })
}

// call runs do as the plan says. late, for calls that write, is what arrives
// after the caller has gone.
func (f *Faulty) call(ctx context.Context, op Op, key checkpoint.Key, do func(context.Context) error, late func(context.Context)) error {
	f.mu.Lock()
	id := Call{Op: op, Key: key}
	f.calls[id]++
	f.byOp[op]++
	id.N = f.calls[id]
	fault := f.plan(id)
	cut := f.cut
	f.mu.Unlock()

	if err := sleep(ctx, fault.Delay); err != nil {
		return err
	}
	if cut != nil {
		select {
		case <-cut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	switch {
	case fault.Kind == Throttled:
		return fmt.Errorf("%s %s: %w", op, key, ErrThrottled)
	case fault.Kind == Hung:
		<-ctx.Done()
		return ctx.Err()
	case fault.Kind == Late && late != nil:
		f.late.Go(func() {
			time.Sleep(fault.After)
			late(context.WithoutCancel(ctx))
		})
		return fmt.Errorf("%s %s: %w", op, key, ErrLost)
	}
	err := do(ctx)
	if err == nil && (fault.Kind == Lost || fault.Kind == Late) {
		return fmt.Errorf("%s %s: %w", op, key, ErrLost)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
