package main

import (
	"strings"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// history is everything that happened, seen from outside the pipeline: what was
// written, what was delivered, and which positions stood when.
type history struct {
	seeds    map[string]place  // items from before the pipeline, by id
	writes   []write           // in order for each id
	origin   time.Time         // what happened before is owed by the backfill, not by the stream
	final    map[string]string // the table at the end: id to version
	lines    []jsonl.Placed    // what was delivered, in order
	observed []observation     // rows of the checkpoint table as they changed
}

// write is one change that a writer made.
type write struct {
	id      string
	version string // what the item then says; empty: deleted
	change  streamtest.Change
}

// place is where a scan meets an item.
type place struct {
	segment string // as lines and partitions name it: "2-of-4"
	index   int
}

// observation is a row as it stood at a moment, and how far the output file
// reached right after. What the row claims must stand in that much of the file.
type observation struct {
	row checkpoint.Checkpoint
	end int64
}

// The names of a pipeline's rows.
const (
	streamRows   = "stream/"
	backfillRows = "backfill/"
)

// doneRow reports whether the row is the marker that ends the backfill.
func doneRow(partition string) bool {
	return strings.HasPrefix(partition, backfillRows) && strings.HasSuffix(partition, "/done")
}

// segmentOf is the "2-of-4" of a segment's row, empty for other rows.
func segmentOf(partition string) string {
	_, segment, _ := strings.Cut(partition, "/segment/")
	return segment
}

// shardOf is the shard id of a shard's row, empty for other rows.
func shardOf(partition string) string {
	if !strings.HasPrefix(partition, streamRows) {
		return ""
	}
	return partition[strings.LastIndexByte(partition, '/')+1:]
}

// attribute reads one string or number of an item in DynamoDB's JSON.
func attribute(item jsonl.Item, name string) string {
	value, _ := item[name].(map[string]any)
	if s, ok := value["S"].(string); ok {
		return s
	}
	n, _ := value["N"].(string)
	return n
}
