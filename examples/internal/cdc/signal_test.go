//go:build unix

package cdc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// TestSignalDrains: what was read before SIGTERM is delivered and saved, so the
// next run repeats nothing and misses nothing.
func TestSignalDrains(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 300)
	out := filepath.Join(t.TempDir(), "orders.jsonl")
	follow := jsonl.NewFollower(out)
	count := map[string]int{}
	read := func() {
		t.Helper()
		lines, err := follow.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			count[l.Phase+" "+fmt.Sprint(l.Keys["id"])+" "+l.SequenceNumber]++
		}
	}
	args := []string{
		"-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", out, "-page-size", "10",
		"-commit-interval", "1m", // so that only the drain saves
	}
	for run, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGTERM} {
		p := launch(t, args...)
		want := 300 + 10*(run+1)
		p.until(t, "the backfill", func() bool { read(); return len(count) >= 300+10*run })
		for i := range 10 {
			put(t, s, fmt.Sprintf("run-%d-%d", run, i))
		}
		p.until(t, "the changes", func() bool { read(); return len(count) >= want })
		p.signal(t, sig)
		if code := p.code(t); code != exitOK {
			t.Fatalf("run %d: exit %d: %s", run, code, p.said())
		}
		if !strings.Contains(p.said(), "finishing what is in flight") {
			t.Errorf("run %d said %q", run, p.said())
		}
	}
	read()
	if len(count) != 330 {
		t.Errorf("%d different lines, want 330", len(count))
	}
	for line, n := range count {
		if n != 1 {
			t.Errorf("%s stands there %d times although every run was drained", line, n)
		}
	}
}

// TestSignalsWithAStuckOutput: the output is a pipe that nobody reads on. The
// drain then ends at its deadline with success, or at once on a second signal;
// and the row says nothing that was not written.
func TestSignalsWithAStuckOutput(t *testing.T) {
	awsEnv(t)
	_, url := serve(t, 3000)
	for _, tc := range []struct {
		name    string
		drain   string
		signals int
		want    int
	}{
		{"the deadline ends the drain", "200ms", 1, exitOK},
		{"a second signal exits at once", "10m", 2, exitInterrupt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // keeps it open, and reads one byte only
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			p := launch(t, "-table", "orders", "-pipeline", tc.name, "-endpoint", url, "-out", pipe, "-drain-timeout", tc.drain,
				"-segments", "16", "-page-size", "10") // enough pages to fill the queue before the output
			if _, err := reader.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			for i := range tc.signals {
				p.signal(t, syscall.SIGTERM)
				if i == 0 {
					p.until(t, "the first signal's message", func() bool { return strings.Contains(p.said(), "a second signal exits at once") })
				}
			}
			start := time.Now()
			if code := p.code(t); code != tc.want {
				t.Errorf("exit %d after %s: %s", code, time.Since(start), p.said())
			}
		})
	}
}
