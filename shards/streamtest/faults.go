package streamtest

import "fmt"

// Fault is a way for one call to fail.
type Fault int

// The faults a call can meet. Direct clients return the error the SDK would,
// HTTP answers it; Cut and LostAnswer break the connection.
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

	faultCount
)

// String names the fault.
func (f Fault) String() string {
	names := [...]string{"none", "throttle", "limit-exceeded", "internal", "cut", "lost-answer", "hang"}
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("fault(%d)", int(f))
	}
	return names[f]
}

// FaultRates are the shares (0 to 1, together at most 1) of an operation's
// calls that meet each fault.
type FaultRates struct {
	Throttle, LimitExceeded, Internal, Cut, LostAnswer, Hang float64
}

func (r FaultRates) of(f Fault) float64 {
	return [faultCount]float64{0, r.Throttle, r.LimitExceeded, r.Internal, r.Cut, r.LostAnswer, r.Hang}[f]
}

func validateFaults(faults map[string]FaultRates) error {
	for op, r := range faults {
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
