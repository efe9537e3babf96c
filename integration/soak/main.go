//go:build integration

// Command soak kills ddbcdc for minutes while its checkpoint store and its
// stream misbehave, and compares everything written with everything delivered:
//
//	cd integration && go run -tags integration ./soak -minutes 5
//
// The server is moto, which this project did not write. The program ddbcdc is
// the real one, built from examples; between it and moto stands a proxy that
// answers with errors and throttles, cuts connections before and after a request
// was applied, tears answers, applies a write late, and answers slowly. Writers make thousands
// of changes a minute past the proxy. ddbcdc is killed (SIGKILL) every few
// seconds; then one life of over a third of the time goes on without kills, and
// its file descriptors, memory, threads and goroutines must stay flat while the
// faults go on. The last line is the verdict:
//
//	soak: minutes 5 items 20000 changes 15000 kills 61 faults 4200 lost 0 regressions 0 fds flat memory flat
//
// The exit code is 1 if anything was lost, delivered out of order or never
// written, if a position went back or ran ahead of the output, or if something
// grew. The oracle uses nothing of the library: it would share its faults.
//
// File descriptors, memory and threads are read from /proc: elsewhere than on
// Linux they are "unknown", and goroutines alone are compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var c config
	flag.Float64Var(&c.minutes, "minutes", 5, "how long the writers write")
	flag.IntVar(&c.items, "items", 0, "items in the table before the pipeline starts (default: by the minutes)")
	flag.IntVar(&c.rate, "rate", 4000, "changes a minute, as far as the server keeps up")
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "of faults, kills and writes")
	flag.StringVar(&c.binary, "ddbcdc", "", "`program` to run (default: built from examples)")
	flag.StringVar(&c.dir, "dir", "", "`folder` that keeps the output (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := run(ctx, c, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	r.print(os.Stdout)
	if !r.ok() {
		os.Exit(1)
	}
}
