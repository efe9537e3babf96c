//go:build integration

package ddbcdc_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
)

// build compiles the program that is tested, as a user would.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ddbcdc")
	cmd := exec.Command("go", "build", "-o", binary, "./ddbcdc")
	cmd.Dir = "../../examples"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// process is one run of the program.
type process struct {
	cmd    *exec.Cmd
	stderr buffer
	exited chan struct{}
}

func start(t *testing.T, server *servers.Server, binary string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), server.Env()...)
	p.cmd.Stderr = &p.stderr
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop asks for a graceful end and returns the exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	return p.code(t)
}

func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Fatalf("the program did not end: %s", p.stderr.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// buffer is written by the process and read by the test.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

var _ io.Writer = (*buffer)(nil)

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// until polls a condition of another process; there is nothing to wait on.
func until(t *testing.T, p *process, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !holds() {
		select {
		case <-p.exited:
			t.Fatalf("the program ended before %s: %s", what, p.stderr.String())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about within %s: %s", what, limit, p.stderr.String())
		}
	}
}

func itemID(i int) string { return fmt.Sprintf("item-%05d", i) }
