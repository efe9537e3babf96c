package streamtest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// OperationCalls counts the calls of one operation.
type OperationCalls struct {
	Calls     int // all of them
	Failed    int // without an answer of success that arrived whole
	Faults    int // of those, with a fault drawn for them
	OverLimit int // came over the documented rate, refused or not
	// PeakRate is the most calls seen in one second of the service's clock: of
	// DescribeStream in all, of GetRecords on any one shard. Other operations
	// have no rate.
	PeakRate int
}

// Calls returns what was counted so far, by operation.
func (s *Service) Calls() map[string]OperationCalls {
	h := &s.hook
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]OperationCalls, len(h.calls))
	for op, c := range h.calls {
		out[op] = *c
	}
	return out
}

// hooks is what surrounds every call: faults, delays and counters. It has its
// own lock, so that it can be asked inside and outside the Service's.
type hooks struct {
	seed    uint64
	latency time.Duration
	enforce bool

	mu        sync.Mutex
	rates     map[string]FaultRates
	queued    map[string][]Fault
	calls     map[string]*OperationCalls
	describes rate
}

// rate counts the calls of the current second.
type rate struct {
	second int64
	calls  int
}

func (h *hooks) init(cfg Config) {
	h.seed, h.latency, h.enforce = mix(cfg.Seed+1), cfg.Latency, cfg.Limits.Enforce
	h.rates = maps.Clone(cfg.Faults)
	h.queued = map[string][]Fault{}
	h.calls = map[string]*OperationCalls{}
}

func (h *hooks) ofLocked(operation string) *OperationCalls {
	c := h.calls[operation]
	if c == nil {
		c = &OperationCalls{}
		h.calls[operation] = c
	}
	return c
}

// overLimit counts a call against its rate and reports whether it is to be refused.
func (h *hooks) overLimit(operation string, r *rate, limit int, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.ofLocked(operation)
	if sec := now.Unix(); sec != r.second {
		*r = rate{second: sec}
	}
	r.calls++
	c.PeakRate = max(c.PeakRate, r.calls)
	if limit < 0 || r.calls <= limit {
		return false
	}
	c.OverLimit++
	return h.enforce
}

// around runs one call of an operation through delay, fault and counters. The
// error of a caller that gave up is its context's.
func (h *hooks) around(ctx context.Context, operation string, ofStreams bool, do func() error) error {
	h.mu.Lock()
	c := h.ofLocked(operation)
	fault := h.faultLocked(operation, c.Calls)
	c.Calls++
	h.mu.Unlock()

	err := h.pass(ctx, fault, ofStreams, do)
	if err != nil {
		h.mu.Lock()
		c.Failed++
		if fault != NoFault {
			c.Faults++
		}
		h.mu.Unlock()
	}
	return err
}

func (h *hooks) pass(ctx context.Context, fault Fault, ofStreams bool, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if fault == Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if h.latency > 0 {
		t := time.NewTimer(h.latency)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
	switch fault {
	case NoFault:
		return do()
	case LostAnswer:
		_ = do()
		return errCut
	case Emptied, Torn:
		if err := do(); err != nil {
			return err
		}
	}
	return faultError(fault, ofStreams)
}

// gaveUp reports whether a call ended because its caller went away.
func gaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
