package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Follower reads complete lines of a growing file; a torn end waits for its
// newline, and may shrink when a new process cuts it off.
type Follower struct {
	path   string
	offset int64 // behind the last complete line read
}

// NewFollower reads path from its beginning.
func NewFollower(path string) *Follower { return &Follower{path: path} }

// Offset is the end of the last complete line returned.
func (f *Follower) Offset() int64 { return f.offset }

// Next returns the complete lines written since the last call, each with the
// offset of its end.
func (f *Follower) Next() ([]Placed, error) {
	file, err := os.Open(f.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= f.offset {
		return nil, nil
	}
	text, err := io.ReadAll(io.NewSectionReader(file, f.offset, info.Size()-f.offset))
	if err != nil {
		return nil, err
	}
	var lines []Placed
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return lines, nil
		}
		var l Line
		if err := json.Unmarshal(text[:end], &l); err != nil {
			return lines, fmt.Errorf("jsonl: %s at byte %d: %w", f.path, f.offset, err)
		}
		f.offset += int64(end) + 1
		lines = append(lines, Placed{l, f.offset})
		text = text[end+1:]
	}
}

// Placed is a line and where it ends in its file.
type Placed struct {
	Line
	End int64
}
