package jsonl_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

const (
	line1 = `{"phase":"backfill","event":"READ","keys":{"id":{"S":"a"}}}` + "\n"
	line2 = `{"phase":"stream","event":"INSERT","keys":{"id":{"S":"b"}}}` + "\n"
)

func TestOpenCutsTheTornLine(t *testing.T) {
	long := `{"phase":"stream","new":{"text":{"S":"` + strings.Repeat("x", 200<<10)
	for _, tc := range []struct {
		name, text, want string
	}{
		{"missing file", "", ""},
		{"whole lines", line1 + line2, line1 + line2},
		{"torn in the middle", line1 + line2[:20], line1},
		{"torn after one byte", line1 + "{", line1},
		{"only the newline is missing", line1 + strings.TrimSuffix(line2, "\n"), line1},
		{"torn first line", line1[:12], ""},
		{"longer than a read block", line1 + long, line1},
		{"zeros of a lost write", line1 + strings.Repeat("\x00", 100), line1},
		{"a line and zeros", line1 + line2[:30] + "\x00\x00", line1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			if tc.text != "" {
				write(t, path, tc.text)
			}
			f, err := jsonl.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got, want := f.Torn(), int64(len(tc.text)-len(tc.want)); got != want {
				t.Errorf("Torn() = %d, want %d", got, want)
			}
			if _, err := f.Write([]byte(line2)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != tc.want+line2 {
				t.Errorf("file holds %.200q, want %q", got, tc.want+line2)
			}
		})
	}
}

func TestOpenRefusesForeignFilesUntouched(t *testing.T) {
	for _, text := range []string{"no newline at all", line1 + "name,price", line1 + `{"id":1}`, "\x01\x00\x00"} {
		path := filepath.Join(t.TempDir(), "data.csv")
		write(t, path, text)
		if _, err := jsonl.Open(path); !errors.Is(err, jsonl.ErrForeign) {
			t.Errorf("Open of %q: %v, want ErrForeign", text, err)
		}
		if got := read(t, path); got != text {
			t.Errorf("Open changed the foreign file to %q", got)
		}
	}
}

func TestOpenRefusesASecondWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f, err := jsonl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Open(path); !errors.Is(err, jsonl.ErrInUse) {
		t.Fatalf("second Open: %v, want ErrInUse", err)
	}
	f.Close()
	g, err := jsonl.Open(path)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	g.Close()
}

func TestFollowerReadsWholeLinesAcrossATear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	follow := jsonl.NewFollower(path)
	expect := func(n int) {
		t.Helper()
		lines, err := follow.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != n {
			t.Fatalf("Next returned %d lines, want %d", len(lines), n)
		}
	}
	expect(0)
	write(t, path, line1+line2[:10])
	expect(1)
	expect(0)
	f, err := jsonl.Open(path) // cuts the torn line
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	expect(0)
	if _, err := f.Write([]byte(line2 + line1)); err != nil {
		t.Fatal(err)
	}
	expect(2)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
