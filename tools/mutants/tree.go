package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	// A mutant may well hang: its tests get this much time at most, and at least.
	testTimeout = time.Minute
	shortest    = 8 * time.Second
	killAfter   = 4 * time.Minute // of building and testing
)

// tree is one copy of what is committed.
type tree struct{ dir string }

// plant makes n copies; remove deletes them.
func plant(ctx context.Context, n int) (trees []*tree, remove func(), err error) {
	archive, err := exec.CommandContext(ctx, "git", "archive", "HEAD").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("git archive HEAD: %w", err)
	}
	root, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		t := &tree{filepath.Join(root, fmt.Sprint(i))}
		if err := unpack(archive, t.dir); err != nil {
			_ = os.RemoveAll(root)
			return nil, nil, err
		}
		trees = append(trees, t)
	}
	return trees, func() { _ = os.RemoveAll(root) }, nil
}

func unpack(archive []byte, dir string) error {
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(to, 0o755)
		case tar.TypeReg:
			err = os.MkdirAll(filepath.Dir(to), 0o755)
			if err == nil {
				err = write(to, r, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			return err
		}
	}
}

func write(to string, from io.Reader, mode os.FileMode) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// apply patches the tree; restore writes back what the files held before.
func (t *tree) apply(ctx context.Context, m *mutant) (restore func() error, err error) {
	before := map[string][]byte{}
	for _, f := range m.files {
		raw, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(f)))
		if err != nil {
			return nil, err
		}
		before[f] = raw
	}
	cmd := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = t.dir, bytes.NewReader(m.diff)
	// A copy inside some repository is still no part of it.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(t.dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return func() error {
		var errs []error
		for f, raw := range before {
			errs = append(errs, os.WriteFile(filepath.Join(t.dir, filepath.FromSlash(f)), raw, 0o644))
		}
		return errors.Join(errs...)
	}, nil
}

func (t *tree) build(ctx context.Context, packages []string) (string, error) {
	out, err := t.command(ctx, append([]string{"build"}, packages...)...).CombinedOutput()
	return string(out), err
}

// command is a go command in the tree. It and what it starts form a group that
// is ended together: a test that hangs is a child of the command.
func (t *tree) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.dir
	// Fixed seeds, so that what was caught once stays caught; and no time spent
	// on, or file written for, the smallest example.
	cmd.Env = append(os.Environ(), "PWD="+t.dir, "RAPID_SEED=1", "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=1ms")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// outcome is how a run of tests ended.
type outcome int

const (
	passed outcome = iota
	failed
	broken // it did not compile, or ran no test
)

type result struct {
	kind   outcome
	first  string // the first test that was red, if one was
	took   time.Duration
	output string
}

func (r result) String() string {
	switch r.kind {
	case passed:
		return "passed"
	case failed:
		return "failed: " + r.first
	}
	return "does not compile, or runs no test"
}

// test runs c.
func (t *tree) test(ctx context.Context, c command, limit time.Duration) result {
	ctx, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	out, err := t.command(ctx, "test", "-vet=off", "-ldflags=-s -w", "-count=1", "-failfast", "-v",
		"-timeout", limit.String(), "-run", c.run, c.pkg).CombinedOutput()
	r := result{output: string(out)}
	if m := tookLine.FindStringSubmatch(r.output); m != nil {
		r.took, _ = time.ParseDuration(m[1])
	}
	switch {
	case strings.Contains(r.output, "[build failed]"), strings.Contains(r.output, "[setup failed]"),
		strings.Contains(r.output, "testing: warning: no tests to run"),
		err != nil && !strings.Contains(r.output, "=== RUN"):
		r.kind = broken
	case err != nil:
		r.kind, r.first = failed, firstRed(r.output)
	}
	return r
}

var (
	tookLine    = regexp.MustCompile(`(?m)^ok\s+\S+\s+([0-9.]+s)`)
	redLine     = regexp.MustCompile(`(?m)^\s*--- FAIL: ([^\s/]+)`)
	runningLine = regexp.MustCompile(`(?m)^\s*running tests:\n\s+([^\s/]+)`)
	startLine   = regexp.MustCompile(`(?m)^=== (?:RUN|CONT|NAME)\s+([^\s/]+)`)
)

// firstRed is the name of the first test that failed, hung or panicked.
func firstRed(output string) string {
	if m := redLine.FindStringSubmatch(output); m != nil {
		return m[1]
	}
	if m := runningLine.FindStringSubmatch(output); m != nil {
		return m[1] + " (it hangs)"
	}
	if strings.Contains(output, "goleak:") {
		return "TestMain (a goroutine is left behind)"
	}
	if all := startLine.FindAllStringSubmatch(output, -1); all != nil {
		return all[len(all)-1][1] + " (it panics)"
	}
	return "the process"
}
