package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// function runs the program as Lambda does: in a process of its own that asks the
// runtime API for events ("Using the Lambda runtime API",
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). The API is
// served here.
type function struct {
	next chan []byte
	done chan result
	log  *logLines

	mu  sync.Mutex
	ids int
}

type result struct {
	body []byte
	err  error
}

const invocationTimeout = 30 * time.Second

// start runs the program with SOURCE.
func start(t *testing.T, source string) *function {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	f := &function{next: make(chan []byte), done: make(chan result, 1), log: &logLines{}}
	api := httptest.NewServer(f)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(),
		"AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"), "SOURCE="+source, asFunction+"=1",
		"CLAIMS_TABLE=", "_LAMBDA_SERVER_PORT=")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		f.log.read(stdout)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // as Lambda ends an idle environment
		<-read
		_ = cmd.Wait()
		api.CloseClientConnections()
		api.Close()
	})
	return f
}

func (f *function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch p := strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/"); {
	case p == "invocation/next":
		select {
		case event := <-f.next:
			f.mu.Lock()
			f.ids++
			id := fmt.Sprint("invocation-", f.ids)
			f.mu.Unlock()
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", id)
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(invocationTimeout).UnixMilli(), 10))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:orders")
			w.Write(event)
		case <-r.Context().Done():
		}
	case strings.HasSuffix(p, "/response"):
		w.WriteHeader(http.StatusAccepted)
		f.done <- result{body: body}
	case strings.HasSuffix(p, "/error"):
		w.WriteHeader(http.StatusAccepted)
		f.done <- result{err: errors.New(string(body))}
	default:
		http.NotFound(w, r)
	}
}

// invoke is an esmtest.Invoke.
func (f *function) invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case f.next <- event:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-f.done:
		return r.body, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// logLines is the function's log.
type logLines struct {
	mu    sync.Mutex
	lines [][]byte
}

func (l *logLines) read(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		l.mu.Lock()
		l.lines = append(l.lines, bytes.Clone(s.Bytes()))
		l.mu.Unlock()
	}
}

func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}

// asFunction makes the test binary the program: main runs in a process of its own
// without being linked a second time.
const asFunction = "RUN_AS_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}
