// Command simulate runs the deployments of many seeds in virtual time, each held
// against an oracle, and prints the verdict:
//
//	go run ./internal/simulate -seeds 1000
//	go run $(tools/steady.sh) ./internal/simulate -seed 17 -v
//
// steady.sh keeps the runtime from interrupting a long-running goroutine, so that a
// seed is the same run each time, on a busy machine too: -repeat holds it to that.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/ackgate/ackgate/internal/sim"
)

func main() {
	testing.Init() // virtual time needs a test around it
	seeds := flag.Int("seeds", 1000, "how many worlds, of the seeds 1, 2, …")
	from := flag.Uint64("from", 1, "the first one's seed")
	one := flag.Uint64("seed", 0, "run only this seed's")
	repeat := flag.Int("repeat", 0, "run the first so many seeds twice, and fail if their event logs differ")
	processes := flag.Int("processes", runtime.NumCPU(), "run so many worlds side by side, each in a process")
	verbose := flag.Bool("v", false, "print the event log, and the hashes of the script and the log; one process then")
	worker := flag.Bool("worker", false, "run the seeds that are read from standard input, for another process")
	flag.Parse()
	if *one != 0 {
		*from, *seeds = *one, 1
	}
	inTest(func(t *testing.T) {
		sim.Alone()
		switch {
		case *worker:
			work(t, os.Stdin, os.Stdout)
		case *verbose || *seeds == 1 || *processes == 1:
			var out io.Writer
			if *verbose {
				out = os.Stdout
			}
			verdict(alone(t, *from, *seeds, out), *from, *verbose)
		default:
			reports, err := farm(*processes, *from, *seeds)
			if err == nil && *repeat > 0 {
				err = again(reports[:min(*repeat, len(reports))], *processes, *from)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "sim: failed:", err)
				os.Exit(1)
			}
			verdict(reports, *from, false)
		}
		os.Exit(0) // before the test's own verdict
	})
}

func inTest(f func(*testing.T)) {
	tests := []testing.InternalTest{{Name: "sim", F: f}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
}

// alone runs the seeds one after another in this process.
func alone(t *testing.T, from uint64, n int, out io.Writer) []sim.Report {
	reports := make([]sim.Report, n)
	for i := range reports {
		reports[i] = sim.Run(t, from+uint64(i), out)
	}
	return reports
}

// again runs the seeds of reports once more and compares the logs.
func again(reports []sim.Report, processes int, from uint64) error {
	second, err := farm(processes, from, len(reports))
	if err != nil {
		return err
	}
	for i, r := range reports {
		if second[i].Script != r.Script || second[i].Log != r.Log {
			return fmt.Errorf("seed %d ran another way the second time: is it built with the flags of tools/steady.sh?", from+uint64(i))
		}
	}
	fmt.Printf("sim: repeated %d differing 0\n", len(reports))
	return nil
}

// most is how many failed seeds are named.
const most = 20

// verdict sums the reports up in the order of their seeds.
func verdict(reports []sim.Report, from uint64, verbose bool) {
	var total sim.Report
	failed := 0
	for i, r := range reports {
		total = total.Add(r)
		if r.Bad() {
			if failed++; failed <= most {
				fmt.Fprintf(os.Stderr, "sim: %s\nsim: see it: go run $(tools/steady.sh) ./internal/simulate -v -seed %d\n", r.First, from+uint64(i))
			}
		}
		if verbose {
			fmt.Printf("sim: script %s log %s\n", r.Script, r.Log)
		}
	}
	if verbose {
		fmt.Printf("sim: %s\n", total.Details())
	}
	fmt.Println(total)
	if total.Bad() {
		fmt.Fprintf(os.Stderr, "sim: failed: %d of %d seeds\n", failed, len(reports))
		os.Exit(1)
	}
}
