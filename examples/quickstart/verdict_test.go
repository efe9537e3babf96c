package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamtest"
)

var epoch = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// sound is a small history without a fault: two items, one of them changed
// twice and the other deleted, a change from before the origin, a redelivery.
func sound() history {
	return history{
		seeds: map[string]place{"item-1": {"0-of-1", 0}, "item-2": {"0-of-1", 1}},
		writes: []write{
			{"item-1", "w0", streamtest.Change{ShardID: "s1", SequenceNumber: "5", Created: epoch.Add(-time.Second)}},
			{"item-1", "w1", streamtest.Change{ShardID: "s1", SequenceNumber: "90", Created: epoch}},
			{"item-2", "", streamtest.Change{ShardID: "s1", SequenceNumber: "100", Created: epoch}},
			{"item-1", "w3", streamtest.Change{ShardID: "s2", SequenceNumber: "101", Created: epoch}},
		},
		origin: epoch,
		final:  map[string]string{"item-1": "w3"},
		lines: []jsonl.Placed{
			row("item-1", "w0", 10),
			row("item-2", "seed", 20),
			change("item-1", "w1", "s1", "90", 30),
			change("item-1", "w1", "s1", "90", 40),
			change("item-2", "", "s1", "100", 50),
			change("item-1", "w3", "s2", "101", 60),
		},
		observed: []observation{
			saved("backfill/1/segment/0-of-1", `{"id":{"S":"item-1"}}`, 1, 1, false, 10),
			saved("backfill/1/segment/0-of-1", `{"id":{"S":"item-2"}}`, 1, 2, true, 20),
			saved("backfill/1/done", "", 1, 1, true, 20),
			saved("stream/L/s1", "", 1, 0, false, 20),
			saved("stream/L/s1", "90", 1, 1, false, 30),
			saved("stream/L/s1", "90", 2, 0, false, 35),
			saved("stream/L/s1", "100", 2, 1, true, 50),
			saved("stream/L/s2", "101", 2, 1, false, 60),
		},
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name    string
		breakIt func(*history)
		want    verdict
		words   string
	}{
		{"sound", func(*history) {}, verdict{duplicates: 1}, ""},
		{"a change is lost", func(h *history) {
			h.lines = append(h.lines[:4:4], h.lines[5:]...)
			h.observed = h.observed[:6]
		}, verdict{duplicates: 1, lost: 2}, "item-2"}, // the change, and what the replica then says
		{"the newest change of an item is lost", func(h *history) {
			h.lines = h.lines[:5]
			h.observed = h.observed[:7]
		}, verdict{duplicates: 1, lost: 2}, "item-1"},
		{"an item of the backfill is lost", func(h *history) {
			h.lines = h.lines[1:]
			h.observed = h.observed[3:]
		}, verdict{duplicates: 1, lost: 1}, "the backfill never delivered item-1"},
		{"a deleted item may be missing in the backfill", func(h *history) {
			h.lines = append(h.lines[:1:1], h.lines[2:]...)
		}, verdict{duplicates: 1}, ""},
		{"what is from before the origin may be missing in the stream", func(h *history) {
			h.writes[0].change.SequenceNumber = "6"
		}, verdict{duplicates: 1}, ""},
		{"an item's changes swap across shards", func(h *history) {
			h.lines = append(h.lines[:2:2], change("item-1", "w3", "s2", "101", 30), change("item-1", "w1", "s1", "90", 40),
				change("item-2", "", "s1", "100", 50), change("item-1", "w3", "s2", "101", 60))
			h.observed = h.observed[:3]
		}, verdict{duplicates: 1, disorder: 1}, "out of order"},
		{"a shard's position steps back", func(h *history) {
			h.observed = append(h.observed[:6:6], saved("stream/L/s1", "9", 2, 1, false, 50))
		}, verdict{duplicates: 1, regressions: 1}, "from 90 to 9"},
		{"a shard's position vanishes with a claim", func(h *history) {
			h.observed = append(h.observed[:6:6], saved("stream/L/s1", "", 3, 0, false, 50))
		}, verdict{duplicates: 1, regressions: 1}, "vanished"},
		{"an old owner's row returns", func(h *history) {
			h.observed = append(h.observed[:6:6], saved("stream/L/s1", "100", 1, 7, false, 50))
		}, verdict{duplicates: 1, regressions: 1}, "2.0 to 1.7"},
		{"a completion is taken back", func(h *history) {
			h.observed = append(h.observed[:7:7], saved("stream/L/s1", "100", 3, 0, false, 50))
		}, verdict{duplicates: 1, regressions: 1}, "no more"},
		{"a segment steps back", func(h *history) {
			h.observed = []observation{
				saved("backfill/1/segment/0-of-1", `{"id":{"S":"item-2"}}`, 1, 1, false, 20),
				saved("backfill/1/segment/0-of-1", `{"id":{"S":"item-1"}}`, 1, 2, false, 20),
			}
		}, verdict{duplicates: 1, regressions: 1}, "segment"},
		{"a shard's position is saved before delivery", func(h *history) {
			h.observed[4].end = 29
		}, verdict{duplicates: 1, early: 1}, "before the change of item-1 at 90"},
		{"a shard is complete before delivery", func(h *history) {
			h.observed = []observation{saved("stream/L/s1", "90", 2, 1, true, 40)}
		}, verdict{duplicates: 1, early: 1}, "item-2 at 100"},
		{"a segment's position is saved before delivery", func(h *history) {
			h.observed[0].end = 9
		}, verdict{duplicates: 1, early: 1}, "item-1"},
		{"the backfill is done before delivery", func(h *history) {
			h.observed[2].end = 9
		}, verdict{duplicates: 1, early: 1}, "done"},
		{"a position that names a later item claims nothing", func(h *history) {
			h.observed[0] = saved("backfill/1/segment/0-of-1", `{"id":{"S":"new-77"}}`, 1, 1, false, 0)
		}, verdict{duplicates: 1}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := sound()
			tc.breakIt(&h)
			got := judge(h)
			words := strings.Join(got.examples, "\n")
			got.examples = nil
			if got.lost != tc.want.lost || got.duplicates != tc.want.duplicates || got.regressions != tc.want.regressions ||
				got.early != tc.want.early || got.disorder != tc.want.disorder {
				t.Errorf("judge = %+v, want %+v\n%s", got, tc.want, words)
			}
			if !strings.Contains(words, tc.words) || (words == "") != got.ok() {
				t.Errorf("in words: %q, want %q; ok %t", words, tc.words, got.ok())
			}
		})
	}
}

func item(name, value string) jsonl.Item {
	if value == "" {
		return nil
	}
	return jsonl.Item{name: map[string]any{"S": value}}
}

func row(id, version string, end int64) jsonl.Placed {
	return jsonl.Placed{Line: jsonl.Line{
		Phase: jsonl.PhaseBackfill, Event: jsonl.EventRead, Keys: item("id", id), New: item("version", version), Segment: "0-of-1",
	}, End: end}
}

func change(id, version, shard, sequence string, end int64) jsonl.Placed {
	return jsonl.Placed{Line: jsonl.Line{
		Phase: jsonl.PhaseStream, Keys: item("id", id), New: item("version", version), Shard: shard, SequenceNumber: sequence,
	}, End: end}
}

func saved(partition, position string, fence, revision uint64, complete bool, end int64) observation {
	return observation{checkpoint.Checkpoint{
		Key: checkpoint.Key{Pipeline: "demo", Partition: partition}, Position: position,
		Fence: fence, Revision: revision, Complete: complete,
	}, end}
}
