// Command tracker measures ackgate's tracker beside what people use instead,
// and prints medians and ratios: see package report for the lines.
//
// The peers: capped is github.com/Jeffail/checkpoint's Capped, uncapped its
// Uncapped under a mutex, heap a map and a heap as one writes them by hand, and
// floor two uncontended lock and unlock pairs, which no tracker that is called
// once to track and once to ack can beat. One operation tracks and acks one
// item. A receipt that is a func goes through a package variable: one that is
// handed to another goroutine escapes, and otherwise the compiler would spare
// the peers an allocation that it spares no real caller.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/ackgate/ackgate/bench/report"
)

var parts = []struct {
	name string
	run  func(*report.Suite)
}{
	{"single", single},
	{"million", million},
	{"contended", contended},
	{"partitions", partitions},
	{"memory", memory},
}

func main() {
	part := flag.String("part", "all", "all, or some of single,million,contended,partitions,memory")
	s := report.New()
	ran := false
	for _, p := range parts {
		if *part == "all" || strings.Contains(","+*part+",", ","+p.name+",") {
			p.run(s)
			ran = true
		}
	}
	if !ran {
		fmt.Fprintln(os.Stderr, "no such part:", *part)
		os.Exit(2)
	}
	s.Exit()
}
