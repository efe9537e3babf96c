package cdc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// TestFullDiskLosesNothing: what could not be written is not acked, so the next
// run, with room, delivers all of it.
func TestFullDiskLosesNothing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	awsEnv(t)
	_, url := serve(t, 200)
	args := []string{"-table", "orders", "-pipeline", "p", "-endpoint", url, "-page-size", "10", "-drain-timeout", "1s"}
	p := launch(t, append(args, "-out", "/dev/full")...)
	if code := p.code(t); code != exitFailed || !strings.Contains(p.said(), "output /dev/full failed (jsonl: write: write /dev/full: no space left on device): make it writable and start again") {
		t.Fatalf("exit %d: %s", code, p.said())
	}
	out := filepath.Join(t.TempDir(), "orders.jsonl")
	p = launch(t, append(args, "-out", out)...)
	follow := jsonl.NewFollower(out)
	ids := map[string]bool{}
	p.until(t, "200 items", func() bool {
		lines, err := follow.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			ids[fmt.Sprint(l.Keys["id"])] = true
		}
		return len(ids) == 200
	})
}

func TestStandardOutputIsOnlyLines(t *testing.T) {
	awsEnv(t)
	_, url := serve(t, 30)
	cmd := exec.Command(os.Args[0], "-table", "orders", "-pipeline", "p", "-endpoint", url, "-progress", "100ms")
	cmd.Env = append(os.Environ(), childMark+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	for range 30 {
		var l jsonl.Line
		if !lines.Scan() {
			t.Fatalf("standard output ended: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.Phase != jsonl.PhaseBackfill || l.Event != jsonl.EventRead {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
	}
}

// TestSecondProcessTakesOver: of two processes with one pipeline the newer one
// goes on, and the older one says why it stops.
func TestSecondProcessTakesOver(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 20)
	dir := t.TempDir()
	run := func(out string) *process {
		return launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", filepath.Join(dir, out),
			"-commit-interval", "10ms", "-drain-timeout", "1s")
	}
	lines := func(out, phase string) int {
		text, _ := os.ReadFile(filepath.Join(dir, out))
		return strings.Count(string(text), `"phase":"`+phase+`"`)
	}
	older := run("older")
	older.until(t, "the older one's backfill", func() bool { return lines("older", "backfill") == 20 })
	n := 0
	change := func() { put(t, s, fmt.Sprintf("later-%d", n)); n++ }
	older.until(t, "the older one's stream", func() bool { change(); return lines("older", "stream") > 0 })
	newer := run("newer")
	newer.until(t, "the newer one's stream", func() bool { change(); return lines("newer", "stream") > 0 })
	newer.until(t, "the older one's end", func() bool {
		change()
		select {
		case <-older.exited:
			return true
		default:
			return false
		}
	})
	if code := older.code(t); code != exitFailed || strings.Count(older.said(), "ddbcdc: another") != 1 || !strings.Contains(older.said(), "another process now runs pipeline p, this one stops") {
		t.Errorf("the older one: exit %d: %s", code, older.said())
	}
}

// TestLatestIsTakenOnce: a stream-only pipeline at latest leaves out what was
// there before; after a kill it resumes, and what came meanwhile is not left out.
func TestLatestIsTakenOnce(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 5)
	out := filepath.Join(t.TempDir(), "orders.jsonl")
	follow := jsonl.NewFollower(out)
	got := map[string]bool{}
	read := func() {
		t.Helper()
		lines, err := follow.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			id, _ := l.Keys["id"].(map[string]any)["S"].(string)
			got[id] = true
		}
	}
	args := []string{"-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", out, "-backfill=false", "-start", "latest"}
	n := 0
	change := func() string { n++; id := fmt.Sprintf("later-%d", n); put(t, s, id); return id }
	p := launch(t, args...)
	p.until(t, "the first change", func() bool { change(); read(); return len(got) > 0 })
	_ = p.cmd.Process.Kill()
	<-p.exited
	read()
	down := []string{change(), change(), change(), change()} // over both shards
	p = launch(t, args...)
	p.until(t, "what came while it was down", func() bool {
		read()
		for _, id := range down {
			if !got[id] {
				return false
			}
		}
		return true
	})
	for id := range got {
		if strings.HasPrefix(id, "item-") {
			t.Errorf("%s is from before the pipeline began at latest", id)
		}
	}
}

// TestTrimHorizonReadsWhatIsRetained: without a backfill, the stream from its
// oldest record on.
func TestTrimHorizonReadsWhatIsRetained(t *testing.T) {
	awsEnv(t)
	_, url := serve(t, 5)
	out := filepath.Join(t.TempDir(), "orders.jsonl")
	p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", out, "-backfill=false")
	p.until(t, "five insertions", func() bool {
		text, _ := os.ReadFile(out)
		return strings.Count(string(text), `"event":"INSERT"`) == 5
	})
}
