//go:build integration

package servers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// startTimeout is how long a server may take to say where it listens. Moto
// imports for some ten seconds on a busy machine.
const startTimeout = 90 * time.Second

// stopTimeout is how long a server may take to end by itself.
const stopTimeout = 5 * time.Second

// StartMoto starts moto: DynamoDB and DynamoDB Streams.
func StartMoto(ctx context.Context) (*Server, error) {
	return start(ctx, "moto", ".venv/bin/python", "serve_moto.py")
}

// StartDynalite starts dynalite: DynamoDB without streams.
func StartDynalite(ctx context.Context) (*Server, error) {
	if _, err := os.Stat(filepath.Join(folder(), "node_modules/dynalite")); err != nil {
		return nil, notInstalled("dynalite", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, notInstalled("dynalite", err)
	}
	return start(ctx, "dynalite", node, "serve_dynalite.js")
}

// start runs the program, which prints its URL as its first line and ends when
// its standard input does.
func start(ctx context.Context, name, program, script string) (*Server, error) {
	if !filepath.IsAbs(program) {
		program = filepath.Join(folder(), program)
		if _, err := os.Stat(program); err != nil {
			return nil, notInstalled(name, err)
		}
	}
	cmd := exec.Command(program, script)
	cmd.Dir = folder()
	var stderr tail
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("servers: start %s: %w", name, err)
	}
	ended := make(chan struct{})
	first := make(chan string, 1)
	go func() {
		defer close(ended)
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		first <- strings.TrimSpace(line)
		io.Copy(io.Discard, lines) // so that it never blocks on a full pipe
		cmd.Wait()
	}()
	s := &Server{Name: name, end: func() error {
		stdin.Close()
		select {
		case <-ended:
			return nil
		case <-time.After(stopTimeout):
		}
		err := cmd.Process.Kill()
		<-ended
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return err
	}}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case s.URL = <-first:
	case <-ctx.Done():
	}
	if s.URL == "" {
		s.Stop()
		return nil, fmt.Errorf("servers: %s did not start: %s", name, stderr.String())
	}
	if err := answers(ctx, s.URL); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func notInstalled(name string, err error) error {
	return fmt.Errorf("servers: %s is not installed, run integration/servers/install.sh: %w", name, err)
}

// folder is where this file, and the servers, are.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// tail keeps the end of what a server complains about. It is read only after
// the server ended.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.buf.Len() > 1<<20 {
		t.buf.Reset()
	}
	return t.buf.Write(p)
}

func (t *tail) String() string { return t.buf.String() }
