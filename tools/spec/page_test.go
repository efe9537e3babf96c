package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What git, pip and npm keep in the tree is not ours, and vanishes under a walk.
func TestOthersFoldersAreNotRead(t *testing.T) {
	dir := t.TempDir()
	for number, folder := range map[string]string{
		"T1": "tracker", "T2": ".git/objects", "T3": "integration/.venv/lib", "T4": "integration/node_modules/x",
	} {
		path := filepath.Join(dir, folder)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "package x\n\nfunc Test" + number + "_Holds(t *testing.T) {}\n"
		if err := os.WriteFile(filepath.Join(path, "x_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := testFiles(dir)
	if names := slices.Sorted(maps.Keys(held)); err != nil || !slices.Equal(names, []string{"T1"}) {
		t.Errorf("tests of %v, %v; want those of T1 alone", names, err)
	}
}
