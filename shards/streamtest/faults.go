package streamtest

import (
	"fmt"
	"maps"
)

// Fault is a way for one call to fail.
type Fault int

// The faults a call can meet. Direct clients return what the SDK would, HTTP
// answers it; Cut and LostAnswer break the connection.
const (
	// NoFault lets the call through.
	NoFault Fault = iota
	// Throttle is a ThrottlingException: nothing was done.
	Throttle
	// LimitExceeded is a LimitExceededException for a stream, and a
	// ProvisionedThroughputExceededException for a table: nothing was done.
	LimitExceeded
	// Internal is an InternalServerError, HTTP 500: nothing was done.
	Internal
	// Cut breaks the connection before anything was done.
	Cut
	// LostAnswer does the work, then breaks the connection.
	LostAnswer
	// Hang does nothing and answers nothing until the caller gives up.
	Hang
	// Emptied does the work, then loses the body of an answer of success, and
	// the checksum that would tell: HTTP 200 and nothing else. The SDK takes that
	// for an answer in which every field is missing, and for no error. A refusal
	// keeps its body.
	Emptied
	// Torn does the same with half the body: the SDK cannot read the answer.
	Torn

	faultCount
)

// String names the fault.
func (f Fault) String() string {
	names := [...]string{"none", "throttle", "limit-exceeded", "internal", "cut", "lost-answer", "hang", "emptied", "torn"}
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("fault(%d)", int(f))
	}
	return names[f]
}

// FaultRates are the shares (0 to 1, together at most 1) of an operation's
// calls that meet each fault.
type FaultRates struct {
	Throttle, LimitExceeded, Internal, Cut, LostAnswer, Hang, Emptied, Torn float64
}

func (r FaultRates) of(f Fault) float64 {
	return [faultCount]float64{0, r.Throttle, r.LimitExceeded, r.Internal, r.Cut, r.LostAnswer, r.Hang, r.Emptied, r.Torn}[f]
}

func validateFaults(faults map[string]FaultRates) error {
	for op, r := range faults {
		if op != "*" && !knownOperation(op) {
			return fmt.Errorf("streamtest: faults for %q, which is no operation here", op)
		}
		sum := 0.0
		for f := NoFault; f < faultCount; f++ {
			if r.of(f) < 0 {
				return fmt.Errorf("streamtest: negative share of %v for %s", f, op)
			}
			sum += r.of(f)
		}
		if sum > 1 {
			return fmt.Errorf("streamtest: fault shares of %s add up to %v, want at most 1", op, sum)
		}
	}
	return nil
}

// SetFaults replaces Config.Faults from now on; nil ends them. It panics on
// shares that cannot be.
func (s *Service) SetFaults(faults map[string]FaultRates) {
	if err := validateFaults(faults); err != nil {
		panic(err)
	}
	h := &s.hook
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rates = maps.Clone(faults)
}

// FailNext makes the next n calls of an operation meet a fault, ahead of any
// schedule. Faults queued before come first. It panics on an operation that is
// not served.
func (s *Service) FailNext(operation string, f Fault, n int) {
	if f < NoFault || f >= faultCount {
		panic(fmt.Sprintf("streamtest: no such fault: %v", f))
	}
	if !knownOperation(operation) {
		panic(fmt.Sprintf("streamtest: faults for %q, which is no operation here", operation))
	}
	h := &s.hook
	h.mu.Lock()
	defer h.mu.Unlock()
	for range n {
		h.queued[operation] = append(h.queued[operation], f)
	}
}

// fault decides the fate of an operation's next call: first what FailNext
// queued, then by the schedule, a function of seed, operation and how many
// calls of it there were.
func (h *hooks) faultLocked(operation string, ordinal int) Fault {
	if q := h.queued[operation]; len(q) > 0 {
		h.queued[operation] = q[1:]
		return q[0]
	}
	if len(h.rates) == 0 {
		return NoFault
	}
	rates, ok := h.rates[operation]
	if !ok {
		rates = h.rates["*"]
	}
	x := h.seed
	for i := range len(operation) {
		x = x*31 + uint64(operation[i])
	}
	draw := share(mix(x + uint64(ordinal)*0x9e3779b97f4a7c15))
	for f := Throttle; f < faultCount; f++ {
		if draw -= rates.of(f); draw < 0 {
			return f
		}
	}
	return NoFault
}

// share maps 64 bits to 0 ≤ x < 1.
func share(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// chanceLocked draws the service's next chance.
func (s *Service) chanceLocked() float64 {
	s.draws++
	return share(mix(s.cfg.Seed + s.draws*0x9e3779b97f4a7c15))
}
