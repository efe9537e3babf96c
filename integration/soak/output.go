//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"time"
)

// line is one line of the output. Attributes of this table are all strings.
type line struct {
	Phase    string     `json:"phase"`
	Event    string     `json:"event"`
	Keys     attributes `json:"keys"`
	New      attributes `json:"new"`
	Old      attributes `json:"old"`
	Sequence string     `json:"sequence_number"`
	Segment  string     `json:"segment"`
}

type attributes map[string]struct{ S string }

// place is where a thing first stands in the output.
type place struct {
	end      int64    // offset of the line's end
	segment  string   // of a row of the backfill
	sequence *big.Int // of a change
}

// output follows the file and keeps what it delivered.
type output struct {
	path string
	size int64 // of the whole lines read
	grew time.Time

	lines      int
	rows       map[string]place  // by id
	changes    map[string]place  // by write.name
	replica    map[string]string // what a consumer who applies every line ends with
	renumbered []string          // changes whose sequence number was another when they came again
}

func newOutput(path string) *output {
	return &output{path: path, grew: time.Now(), rows: map[string]place{}, changes: map[string]place{}, replica: map[string]string{}}
}

// read takes in the whole lines that are new.
func (o *output) read() error {
	file, err := os.Open(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < o.size {
		return fmt.Errorf("%s: whole lines vanished: it had %d bytes and has %d", o.path, o.size, info.Size())
	}
	fresh, err := io.ReadAll(io.NewSectionReader(file, o.size, info.Size()-o.size))
	if err != nil {
		return err
	}
	for {
		end := bytes.IndexByte(fresh, '\n')
		if end < 0 {
			return nil
		}
		var l line
		if err := json.Unmarshal(fresh[:end], &l); err != nil {
			return fmt.Errorf("%s at byte %d: %w", o.path, o.size, err)
		}
		o.size += int64(end) + 1
		fresh = fresh[end+1:]
		o.grew = time.Now()
		if err := o.add(l); err != nil {
			return err
		}
	}
}

func (o *output) add(l line) error {
	o.lines++
	id := l.Keys["id"].S
	if o.replica[id] = l.New["version"].S; o.replica[id] == "" {
		delete(o.replica, id)
	}
	if l.Phase == "backfill" {
		if _, again := o.rows[id]; !again {
			o.rows[id] = place{end: o.size, segment: l.Segment}
		}
		return nil
	}
	w := write{id: id, version: l.New["version"].S}
	if l.Event == "REMOVE" {
		w = write{id: id, before: l.Old["version"].S}
	}
	n, ok := new(big.Int).SetString(l.Sequence, 10)
	if !ok {
		return fmt.Errorf("%s: %s has the sequence number %q", o.path, w.name(), l.Sequence)
	}
	if first, again := o.changes[w.name()]; !again {
		o.changes[w.name()] = place{end: o.size, sequence: n}
	} else if first.sequence.Cmp(n) != 0 {
		o.renumbered = append(o.renumbered, fmt.Sprintf("%s came as %s and as %s", w.name(), first.sequence, n))
	}
	return nil
}

// holds reports whether every one of the changes is delivered.
func (o *output) holds(log []write) bool {
	for i := len(log) - 1; i >= 0; i-- { // the newest come last
		if _, ok := o.changes[log[i].name()]; !ok {
			return false
		}
	}
	return true
}
