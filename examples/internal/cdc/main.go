package cdc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK        = 0
	exitFailed    = 1   // something broke while running; the same command resumes
	exitInput     = 2   // the user has to change something first
	exitInterrupt = 130 // second signal: stopped without draining
)

// Main is the program ddbcdc: it runs the pipeline of args until a signal or a
// failure ends it, and returns the exit code. Messages go to stderr.
func Main(args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		ctx, release := stopOnSignal(stderr)
		defer release()
		err = Run(ctx, o, stderr)
	}
	switch {
	case err == nil:
		return exitOK
	case isInput(err):
		fmt.Fprintln(stderr, "ddbcdc:", err)
		return exitInput
	default:
		fmt.Fprintln(stderr, "ddbcdc:", err)
		return exitFailed
	}
}

// stopOnSignal returns a context that the first SIGINT or SIGTERM cancels. The
// second ends the process at once: every ack that was not saved comes again.
func stopOnSignal(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			if isTerminal(stderr) {
				fmt.Fprint(stderr, eraseLine)
			}
			fmt.Fprintf(stderr, "ddbcdc: %s: finishing what is in flight; a second signal exits at once\n", s)
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupt)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
