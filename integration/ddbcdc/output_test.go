//go:build integration

package ddbcdc_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// line is one line of the output.
type line struct {
	Phase    string     `json:"phase"`
	Event    string     `json:"event"`
	Keys     attributes `json:"keys"`
	New      attributes `json:"new"`
	Old      attributes `json:"old"`
	Sequence string     `json:"sequence_number"`
	Shard    string     `json:"shard"`
	Segment  string     `json:"segment"`
}

// attributes of these tests are all strings.
type attributes map[string]struct{ S string }

// output reads the complete lines of a file that another process appends to.
type output struct {
	path   string
	offset int64
	lines  []line
}

func (o *output) read(t *testing.T) []line {
	t.Helper()
	text, err := os.ReadFile(o.path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	if int64(len(text)) < o.offset {
		t.Fatalf("%d bytes of whole lines shrank to %d", o.offset, len(text))
	}
	for rest := text[o.offset:]; ; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return o.lines
		}
		var l line
		require.NoError(t, json.Unmarshal(rest[:end], &l), "%s", rest[:end])
		o.lines = append(o.lines, l)
		o.offset += int64(end) + 1
		rest = rest[end+1:]
	}
}

// distinct counts the rows and the changes that were delivered at least once.
func (o *output) distinct(t *testing.T) (rows, changes int) {
	t.Helper()
	ids, sequences := map[string]bool{}, map[string]bool{}
	for _, l := range o.read(t) {
		if l.Phase == "backfill" {
			ids[l.Keys["id"].S] = true
		} else {
			sequences[l.Shard+"/"+l.Sequence] = true
		}
	}
	return len(ids), len(sequences)
}
