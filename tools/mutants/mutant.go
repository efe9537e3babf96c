package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// mutant is one patch file and what became of it.
type mutant struct {
	name       string // of the file
	what       string // the fault, in words
	impossible string // why it cannot be put in
	compiler   bool   // must not compile
	commands   []command
	diff       []byte
	files      []string // that it touches

	caught  bool
	err     error // it could not be tried
	verdict string
	output  string
	took    time.Duration
}

// command is one run of the tests of a package.
type command struct{ pkg, run string }

func (c command) String() string { return "go test " + c.pkg + " -run '" + c.run + "'" }

var runLine = regexp.MustCompile(`^go test (\./\S*) -run '([^']+)'$`)

// parse reads a patch file: a header of "word: text" lines, then the diff.
func parse(file string) (*mutant, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &mutant{name: filepath.Base(file)}
	head, diff, _ := strings.Cut(string(raw), "\n--- ")
	for line := range strings.Lines(head) {
		word, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case !ok:
			return nil, fmt.Errorf("%s: the header line %q is not \"word: text\"", file, line)
		}
		switch word {
		case "what":
			m.what = text
		case "fault", "why":
		case "impossible":
			m.impossible = text
		case "run":
			if text == "compiler" {
				m.compiler = true
				continue
			}
			p := runLine.FindStringSubmatch(text)
			if p == nil {
				return nil, fmt.Errorf("%s: run: %q: want compiler, or go test ./package -run 'pattern'", file, text)
			}
			m.commands = append(m.commands, command{p[1], p[2]})
		default:
			return nil, fmt.Errorf("%s: the header has no %q", file, word)
		}
	}
	if diff != "" {
		m.diff = []byte("--- " + diff)
	}
	for line := range strings.Lines(string(m.diff)) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			m.files = append(m.files, strings.TrimSpace(name))
		}
	}
	catchers := len(m.commands)
	if m.compiler {
		catchers++
	}
	switch {
	case m.what == "":
		return nil, fmt.Errorf("%s: the header does not say what: the fault is", file)
	case m.impossible != "" && (catchers > 0 || len(m.files) > 0):
		return nil, fmt.Errorf("%s: it is impossible, and has a run: line or a diff", file)
	case m.impossible == "" && (catchers == 0 || len(m.files) == 0):
		return nil, fmt.Errorf("%s: it needs a run: line and a diff", file)
	}
	return m, nil
}

// try applies the mutant to t, runs what must notice it, and takes it out again.
func (m *mutant) try(ctx context.Context, t *tree, limits *sync.Map) {
	if m.impossible != "" {
		m.verdict = "impossible: " + m.impossible
		return
	}
	began := time.Now()
	defer func() { m.took = time.Since(began) }()
	restore, err := t.apply(ctx, m)
	if err != nil {
		m.err, m.verdict = err, "DOES NOT APPLY"
		return
	}
	defer func() {
		if err := restore(); err != nil {
			m.err = errors.Join(m.err, err)
		}
	}()
	if m.compiler {
		if out, err := t.build(ctx, m.packages()); err != nil {
			m.caught, m.verdict, m.output = true, "compiler", out
		} else {
			m.verdict = "UNCAUGHT by the compiler"
		}
		return
	}
	for _, c := range m.commands {
		limit := testTimeout
		if l, ok := limits.Load(c.pkg); ok {
			limit = l.(time.Duration)
		}
		r := t.test(ctx, c, limit)
		m.output += r.output
		switch r.kind {
		case broken:
			m.err, m.verdict = fmt.Errorf("it does not compile, or runs no test:\n%s", r.output), "DOES NOT COMPILE"
			return
		case failed:
			m.caught, m.verdict = true, strings.TrimPrefix(c.pkg, "./")+": "+r.first
			return
		}
	}
	m.verdict = "UNCAUGHT"
}

// packages are those whose files the mutant touches.
func (m *mutant) packages() []string {
	var dirs []string
	for _, f := range m.files {
		dirs = append(dirs, "./"+filepath.ToSlash(filepath.Dir(f)))
	}
	return dirs
}
