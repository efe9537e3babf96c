// Command snippets holds the Go blocks of Markdown files against compiled code.
//
// A block is either a whole file (it starts with "package"), which must then be
// the text of a file of the repository, or an excerpt. Both name where they
// stand in a comment line right above the fence:
//
//	<!-- source: examples/hello/main.go -->
//
// The lines of the block, white space at their ends apart, must stand in that
// file one after another. Since the file is compiled and tested with the rest,
// the prose cannot drift from it.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	failed := false
	blocks := 0
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "snippets:", err)
			os.Exit(1)
		}
		for _, b := range goBlocks(string(text)) {
			blocks++
			if err := b.check(); err != nil {
				failed = true
				fmt.Fprintf(os.Stderr, "%s:%d: %v\n", path, b.line, err)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Printf("snippets: %d blocks stand in compiled code\n", blocks)
}

type block struct {
	line   int
	source string
	lines  []string
}

func goBlocks(text string) []block {
	var blocks []block
	var current *block
	source := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		trimmed := strings.TrimSpace(line)
		switch {
		case current != nil && trimmed == "```":
			blocks = append(blocks, *current)
			current, source = nil, ""
		case current != nil:
			if trimmed != "" {
				current.lines = append(current.lines, trimmed)
			}
		case trimmed == "```go":
			current = &block{line: n, source: source}
		case strings.HasPrefix(trimmed, "<!-- source:"):
			source = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(trimmed, "<!-- source:"), "-->"))
		case trimmed != "":
			source = ""
		}
	}
	return blocks
}

func (b block) check() error {
	if b.source == "" {
		return fmt.Errorf("a Go block without a source: put <!-- source: path --> above it")
	}
	text, err := os.ReadFile(b.source)
	if err != nil {
		return err
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		if t := strings.TrimSpace(line); t != "" {
			have = append(have, t)
		}
	}
	for i := 0; i+len(b.lines) <= len(have); i++ {
		if slices.Equal(have[i:i+len(b.lines)], b.lines) {
			return nil
		}
	}
	for _, line := range b.lines {
		if !slices.Contains(have, line) {
			return fmt.Errorf("not in %s: %q", b.source, line)
		}
	}
	return fmt.Errorf("its lines stand in %s, but not one after another", b.source)
}
