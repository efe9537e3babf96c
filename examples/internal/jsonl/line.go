package jsonl

import (
	"bytes"
	"encoding/json"
	"time"
)

// The phases a line can come from.
const (
	PhaseBackfill = "backfill"
	PhaseStream   = "stream"
)

// EventRead is the event of a backfill line. Stream lines carry DynamoDB's own
// INSERT, MODIFY and REMOVE.
const EventRead = "READ"

// Line is one item of the backfill or one change of the stream. Phase stays the
// first field: Open recognises a torn line by it.
type Line struct {
	Phase          string    `json:"phase"`
	Event          string    `json:"event"`
	Keys           Item      `json:"keys"`
	New            Item      `json:"new,omitempty"`
	Old            Item      `json:"old,omitempty"`
	SequenceNumber string    `json:"sequence_number,omitempty"`
	Created        time.Time `json:"created,omitzero"`
	Shard          string    `json:"shard,omitempty"`
	Segment        string    `json:"segment,omitempty"`
}

// lineStart is how every line begins.
const lineStart = `{"phase":"`

// appendLine adds l and its newline to buf.
func appendLine(buf *bytes.Buffer, l *Line) error {
	enc := json.NewEncoder(buf) // Encode ends in the newline
	enc.SetEscapeHTML(false)
	return enc.Encode(l)
}
