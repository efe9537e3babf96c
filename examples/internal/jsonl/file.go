package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

var (
	// ErrForeign is returned by Open for a file that holds something else than
	// complete lines and perhaps one torn line of this package.
	ErrForeign = errors.New("jsonl: the file's end is not a line of this program: name another file, or move this one away")
	// ErrInUse is returned by Open while another process writes the file.
	ErrInUse = errors.New("jsonl: another process is writing this file: stop it, or name another file")
)

// File is an output that can be made durable.
type File struct {
	f       *os.File
	regular bool
	torn    int64
}

// Open opens path for appending, creating it if need be, and cuts off a torn
// last line. The path "-" is standard output.
func Open(path string) (*File, error) {
	if path == "-" {
		return &File{f: os.Stdout}, nil
	}
	_, statErr := os.Stat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	out := &File{f: f}
	if err := out.prepare(errors.Is(statErr, os.ErrNotExist)); err != nil {
		f.Close()
		return nil, err
	}
	return out, nil
}

func (f *File) prepare(created bool) error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if f.regular = info.Mode().IsRegular(); !f.regular {
		return nil // a pipe or device keeps nothing to repair or to sync
	}
	// Without the lock, two processes given one file by mistake would cut off
	// each other's half-written lines.
	if err := lock(f.f); err != nil {
		return err
	}
	if f.torn, err = cutTornLine(f.f, info.Size()); err != nil {
		return err
	}
	if !created {
		return nil
	}
	// A file whose directory entry is not durable can vanish with all that
	// was fsynced into it.
	dir, err := os.Open(filepath.Dir(f.f.Name()))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Torn is how many bytes of a torn last line Open removed.
func (f *File) Torn() int64 { return f.torn }

// Write appends p.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Sync makes what was written durable. For a pipe or a device it does nothing.
func (f *File) Sync() error {
	if !f.regular {
		return nil
	}
	return f.f.Sync()
}

// Close closes the file; standard output stays open.
func (f *File) Close() error {
	if f.f == os.Stdout {
		return nil
	}
	return f.f.Close()
}

// cutTornLine truncates f behind its last newline and returns how much it cut.
func cutTornLine(f *os.File, size int64) (int64, error) {
	const block = 64 << 10
	var tail []byte
	start := size
	for start > 0 && bytes.IndexByte(tail, '\n') < 0 {
		n := min(block, start)
		start -= n
		head := make([]byte, n)
		if _, err := f.ReadAt(head, start); err != nil && err != io.EOF {
			return 0, fmt.Errorf("jsonl: read the end of the file: %w", err)
		}
		tail = append(head, tail...)
	}
	tail = tail[bytes.LastIndexByte(tail, '\n')+1:]
	if len(tail) == 0 {
		return 0, nil
	}
	// Zero bytes are what some file systems show, after a power failure, where
	// a write extended the file and its data did not arrive.
	text := strings.TrimRight(string(tail), "\x00")
	if !strings.HasPrefix(text, lineStart) && !strings.HasPrefix(lineStart, text) {
		return 0, ErrForeign
	}
	torn := int64(len(tail))
	if err := f.Truncate(size - torn); err != nil {
		return 0, fmt.Errorf("jsonl: cut off the torn last line: %w", err)
	}
	return torn, f.Sync()
}
