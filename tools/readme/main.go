// Command readme runs the commands that README.md shows in its first sh block,
// in a clean clone of what is committed, so that the README cannot promise what
// a new user would not see.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "ackgate-readme-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clone := filepath.Join(dir, "ackgate")
	if err := command("", "git", "clone", "--quiet", strings.TrimSpace(string(root)), clone); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(clone, "README.md"))
	if err != nil {
		return err
	}
	commands := firstShellBlock(string(text))
	if len(commands) == 0 {
		return fmt.Errorf("README.md has no sh block with commands")
	}
	for _, c := range commands {
		start := time.Now()
		fmt.Printf("readme: %s\n", c)
		if err := command(clone, "sh", "-c", c); err != nil {
			return fmt.Errorf("%q failed in a clean clone: %w", c, err)
		}
		fmt.Printf("readme: %s: passed in %s\n", c, time.Since(start).Round(time.Second))
	}
	return nil
}

// firstShellBlock returns the commands of the first fenced sh block, comments left out.
func firstShellBlock(text string) []string {
	var commands []string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !inside && line == "```sh":
			inside = true
		case inside && line == "```":
			return commands
		case inside:
			if c, _, _ := strings.Cut(line, "#"); strings.TrimSpace(c) != "" {
				commands = append(commands, strings.TrimSpace(c))
			}
		}
	}
	return nil
}

func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	return c.Run()
}
