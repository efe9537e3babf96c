// Command quickstart kills a real pipeline again and again and counts what was
// lost: the program ddbcdc, in a process of its own, against a table and its
// stream served on loopback. It needs nothing but Go:
//
//	cd examples && go run ./quickstart
//
// A table of 20,000 items stands ready, and writers keep changing it while its
// shards rotate and split. The pipeline reads the table, then the
// stream, into a file, and keeps its checkpoints in the same service. It is
// killed (SIGKILL) at random moments in both phases and started again each
// time. At the end everything written is compared with everything delivered,
// and every row that the checkpoint table ever showed with what the file held
// at that moment. The last line is the verdict:
//
//	demo: items 20000 changes 15000 kills 8 lost 0 duplicates 812 checkpoint-regressions 0
//
// The exit code is 1 if anything was lost, came out of order, or if a
// checkpoint went backwards or stood before its data was delivered.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/ackgate/ackgate/examples/internal/cdc"
)

// childMark is set in the environment of the processes that are killed.
const childMark = "ACKGATE_QUICKSTART_CHILD"

func main() {
	if os.Getenv(childMark) != "" {
		go func() { // the parent holds the other end: gone, so are we
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		os.Exit(cdc.Main(os.Args[1:], os.Stderr))
	}
	d := demo{}
	flag.IntVar(&d.items, "items", 20_000, "items in the table before the pipeline starts")
	flag.IntVar(&d.changes, "changes", 15_000, "changes made while it runs")
	flag.IntVar(&d.kills, "kills", 8, "how often it is killed; at least two in each phase")
	flag.Uint64Var(&d.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "of all random choices")
	flag.DurationVar(&d.during, "during", 13*time.Second, "spread the changes over this long")
	flag.DurationVar(&d.limit, "limit", 55*time.Second, "give up after this long")
	flag.StringVar(&d.dir, "dir", "", "keep the output and the log of the pipeline here (default: a temporary folder)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := d.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func (d *demo) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(d.seed, stream)) }
