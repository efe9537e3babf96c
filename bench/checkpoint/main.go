// Command checkpoint measures what durable progress costs: how much a store
// that takes 20 ms a write slows acks down (it must not: acks never wait for
// it), how many requests and writes it gets, and what memory an outage costs.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/ackgate/ackgate/bench/report"
)

func main() {
	// Long enough that many saves run beside the acks, and often enough that a
	// busy neighbour does not decide the ratio. -rounds and -time still win.
	os.Args = slices.Insert(os.Args, 1, "-rounds=15", "-time=300ms")
	s := report.New()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // an outage is part of it
	if err := measure(s); err != nil {
		fmt.Fprintln(os.Stderr, "checkpoint:", err)
		os.Exit(1)
	}
	s.Exit()
}

func measure(s *report.Suite) error {
	if err := acks(s); err != nil {
		return err
	}
	if err := requests(s); err != nil {
		return err
	}
	return outage(s)
}
