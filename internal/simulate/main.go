// Command simulate runs the deployments of many seeds in virtual time, each held
// against an oracle, and prints the verdict:
//
//	go run ./internal/simulate -seeds 1000
//	go run ./internal/simulate -seed 17 -v
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ackgate/ackgate/internal/sim"
)

func main() {
	testing.Init() // virtual time needs a test around it
	seeds := flag.Int("seeds", 1000, "how many worlds, of the seeds 1, 2, …")
	from := flag.Uint64("from", 1, "the first one's seed")
	one := flag.Uint64("seed", 0, "run only this seed's")
	verbose := flag.Bool("v", false, "print the event log, and the hashes of the script and the log")
	flag.Parse()
	if *one != 0 {
		*from, *seeds = *one, 1
	}
	var out io.Writer
	if *verbose {
		out = os.Stdout
	}
	tests := []testing.InternalTest{{Name: "sim", F: func(t *testing.T) {
		total := all(t, *from, *seeds, out)
		if *verbose {
			fmt.Printf("sim: %s\n", total.Details())
		}
		fmt.Println(total)
		if total.Bad() {
			fmt.Fprintf(os.Stderr, "sim: failed: %s\n", total.First)
			os.Exit(1)
		}
		os.Exit(0) // before the test's own verdict
	}}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
}

// all runs the seeds side by side, and sums them up in their order.
func all(t *testing.T, from uint64, n int, out io.Writer) (total sim.Report) {
	reports := make([]sim.Report, n)
	next := make(chan int)
	var side sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		side.Go(func() {
			for i := range next {
				began := time.Now()
				reports[i] = sim.Run(t, from+uint64(i), out)
				if d := time.Since(began); d > 10*time.Second {
					fmt.Fprintf(os.Stderr, "sim: seed %d took %v\n", from+uint64(i), d.Round(time.Second))
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	side.Wait()
	failed := 0
	for i, r := range reports {
		total = total.Add(r)
		if failed += btoi(r.Bad()); r.Bad() && failed <= most {
			fmt.Fprintf(os.Stderr, "sim: %s\nsim: see it: go run ./internal/simulate -v -seed %d\n", r.First, from+uint64(i))
		}
		if out != nil {
			fmt.Fprintf(out, "sim: script %s log %s\n", r.Script, r.Log)
		}
	}
	return total
}

// most is how many failed seeds are named.
const most = 20

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
