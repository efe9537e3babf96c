//go:build unix

package cdc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// TestSignalsWithAStuckOutput: the output is a pipe that is full and that nobody
// reads. The drain then ends at its deadline with success, or at once on a second
// signal; and no row says anything, since nothing was written.
func TestSignalsWithAStuckOutput(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 300)
	waits := regexp.MustCompile(`[1-9][0-9]* batches in flight`)
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
			p := launch(t, "-table", "orders", "-pipeline", tc.name, "-endpoint", url, "-out", fullPipe(t), "-drain-timeout", tc.drain,
				"-page-size", "10", "-commit-interval", "1ms", "-progress", "100ms")
			p.until(t, "a batch in flight", func() bool { return waits.MatchString(p.said()) })
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
	rows := s.Items("ackgate-checkpoints")
	if len(rows) == 0 {
		t.Error("no pipeline began")
	}
	for _, row := range rows {
		if name := row["partition"].(*types.AttributeValueMemberS).Value; strings.Contains(name, "/segment/") && row["position"] != nil {
			t.Errorf("%s is at %v, and nothing was written", name, row["position"])
		}
	}
}

// fullPipe is the path of a named pipe that takes not one byte.
func fullPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK, 0) // its own reader, so that it never breaks
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(pipe) })
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil || errors.Is(err, syscall.EINTR); {
			_, err = syscall.Write(pipe, make([]byte, size))
		}
		if !errors.Is(err, syscall.EAGAIN) {
			t.Fatal(err)
		}
	}
	return path
}
