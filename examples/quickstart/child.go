package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// child is one process of the pipeline.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan struct{}
	err    error // of Wait, once exited is closed
}

// start runs this very program again, as ddbcdc.
func (d *demo) start() (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(d.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := &child{exited: make(chan struct{}), cmd: exec.Command(self, d.arguments()...)}
	c.cmd.Stderr = log
	c.cmd.Env = d.environment()
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

func (d *demo) arguments() []string {
	return []string{
		"-table", tableName, "-pipeline", pipeline, "-endpoint", d.url, "-out", d.outFile(),
		"-segments", fmt.Sprint(segments), "-page-size", "40",
		// A slow sink, and commits as quick: at every moment some of what was
		// read is not yet safe, so that a position that ran ahead would be
		// caught, and some of what is safe is not yet saved, and comes twice.
		"-linger", "150ms", "-commit-interval", "80ms", "-drain-timeout", "5s", "-progress", "1s",
	}
}

// environment keeps the user's AWS settings and proxies out.
func (d *demo) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if upper := strings.ToUpper(name); !strings.HasPrefix(upper, "AWS_") && !strings.HasSuffix(upper, "_PROXY") {
			env = append(env, v)
		}
	}
	none := filepath.Join(d.dir, "no-aws-configuration")
	return append(env, childMark+"=1", "AWS_ACCESS_KEY_ID=demo", "AWS_SECRET_ACCESS_KEY=demo", "AWS_REGION=us-east-1",
		"AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none)
}

// kill ends the process as a power failure would: nothing is flushed.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.exited
}

// stop asks for a graceful end and reports whether it was one.
func (c *child) stop(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.kill() // no such signal on this system
		return nil
	}
	select {
	case <-c.exited:
	case <-time.After(15 * time.Second):
		c.kill()
		return errors.New("the pipeline did not stop on SIGTERM")
	case <-ctx.Done():
		c.kill()
		return ctx.Err()
	}
	if c.err != nil {
		return fmt.Errorf("the pipeline stopped on SIGTERM with %w", c.err)
	}
	return nil
}

// lastWords is the end of the pipeline's log, for the report of a failure.
func (d *demo) lastWords() string {
	text, _ := os.ReadFile(d.logFile())
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}
