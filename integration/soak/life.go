//go:build integration

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// build compiles ddbcdc as a user would.
func build(dir string) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	binary := filepath.Join(dir, "ddbcdc")
	cmd := exec.Command("go", "build", "-o", binary, "./ddbcdc")
	cmd.Dir = filepath.Join(filepath.Dir(file), "../../examples")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ddbcdc: %w: %s", err, out)
	}
	return binary, nil
}

// life is one process of ddbcdc.
type life struct {
	cmd     *exec.Cmd
	began   time.Time
	stderr  tail
	exited  chan struct{}
	sampled chan struct{}
	samples []sample // complete once sampled is closed
}

func start(binary string, env, args []string) (*life, error) {
	l := &life{cmd: exec.Command(binary, args...), began: time.Now(), exited: make(chan struct{}), sampled: make(chan struct{})}
	l.cmd.Env = env
	l.cmd.Stderr = &l.stderr
	l.cmd.SysProcAttr = orphanEnds()
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = l.cmd.Wait()
		close(l.exited)
	}()
	go l.watch()
	return l, nil
}

// watch samples what the process uses until it ends.
func (l *life) watch() {
	defer close(l.sampled)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.exited:
			return
		case <-tick.C:
			if s, ok := measure(l.cmd.Process.Pid, time.Since(l.began)); ok {
				l.samples = append(l.samples, s)
			}
		}
	}
}

func (l *life) alive() bool {
	select {
	case <-l.exited:
		return false
	default:
		return true
	}
}

// end sends the signal and waits, and kills what does not listen. It reports
// whether the process was alive to receive it.
func (l *life) end(s syscall.Signal, patience time.Duration) bool {
	alive := l.alive() && l.cmd.Process.Signal(s) == nil
	select {
	case <-l.exited:
	case <-time.After(patience):
		_ = l.cmd.Process.Kill()
		<-l.exited
	}
	<-l.sampled
	return alive
}

// kill ends the process as a power failure would.
func (l *life) kill() bool { return l.end(syscall.SIGKILL, time.Minute) }

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\[`)

// goroutines ends the process with the signal at which Go's runtime lists its
// goroutines, and counts them. 0: it did not say.
func (l *life) goroutines() int {
	l.end(syscall.SIGQUIT, 10*time.Second)
	return len(goroutine.FindAllString(l.stderr.String(), -1))
}

// lastWords is why a process ended by itself.
func (l *life) lastWords() string {
	lines := strings.Split(strings.TrimSpace(l.stderr.String()), "\n")
	return fmt.Sprintf("exit %d: %s", l.cmd.ProcessState.ExitCode(), lines[len(lines)-1])
}

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const tailSize = 4 << 20

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text.Len() > tailSize {
		t.text.Reset()
	}
	return t.text.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// environment makes the program use the endpoint, and nothing of its caller's AWS settings.
func environment(endpoint, dir string, more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if upper := strings.ToUpper(name); !strings.HasPrefix(upper, "AWS_") && !strings.HasSuffix(upper, "_PROXY") {
			env = append(env, v)
		}
	}
	nowhere := filepath.Join(dir, "no-aws-configuration")
	env = append(env, "AWS_ENDPOINT_URL="+endpoint, "AWS_CONFIG_FILE="+nowhere, "AWS_SHARED_CREDENTIALS_FILE="+nowhere,
		"AWS_EC2_METADATA_DISABLED=true", "GOTRACEBACK=all")
	return append(env, more...)
}
