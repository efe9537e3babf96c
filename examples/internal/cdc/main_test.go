package cdc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// childMark makes the test binary run as ddbcdc: signals need a process.
const childMark = "ACKGATE_CDC_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		os.Exit(Main(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// awsEnv keeps the settings of whoever runs the tests out.
func awsEnv(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name) // Setenv puts it back after the test
		}
	}
	none := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_REGION", "us-east-1")
}

// serve is a table "orders" with a stream and n items from before, and a table
// "silent" without a stream.
func serve(t *testing.T, n int) (*streamtest.Service, string) {
	t.Helper()
	s := streamtest.New(streamtest.Config{})
	for _, table := range []streamtest.Table{
		{Name: "orders", Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: 2},
		{Name: "returns", Hash: "id", View: types.StreamViewTypeKeysOnly},
		{Name: "silent", Hash: "id"},
	} {
		if err := s.CreateTable(table); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		put(t, s, fmt.Sprintf("item-%d", i))
	}
	s.Advance(time.Hour)
	server, err := s.Serve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return s, server.URL()
}

func put(t *testing.T, s *streamtest.Service, id string) {
	t.Helper()
	if _, err := s.Put("orders", streamtest.Item{"id": text(id)}); err != nil {
		t.Fatal(err)
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// process is ddbcdc in a process of its own.
type process struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	stderr strings.Builder
	exited chan struct{}
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(text)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childMark+"=1")
	p.cmd.Stderr = p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		t.Fatalf("ddbcdc does not end; it said: %s", p.said())
	}
	return p.cmd.ProcessState.ExitCode()
}

// until waits for what another process brings about.
func (p *process) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		select {
		case <-p.exited:
			t.Fatalf("ddbcdc ended before %s; it said: %s", what, p.said())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come about; ddbcdc said: %s", what, p.said())
		}
	}
}
