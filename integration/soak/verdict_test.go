//go:build integration

package main

import (
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sound is a small history without a fault: three items, of which one changes
// twice, one is removed, and one change comes again.
func sound() history {
	out := newOutput("")
	deliver := func(size int64, l line) {
		out.size = size
		if err := out.add(l); err != nil {
			panic(err)
		}
	}
	attr := func(name, value string) attributes { return attributes{name: {value}} }
	row := func(size int64, id string) {
		deliver(size, line{Phase: "backfill", Keys: attr("id", id), New: attr("version", seedVersion), Segment: "0-of-1"})
	}
	change := func(size int64, id, version, sequence string) {
		deliver(size, line{Phase: "stream", Event: "MODIFY", Keys: attr("id", id), New: attr("version", version), Sequence: sequence})
	}
	row(10, seedID(0))
	row(20, seedID(1))
	row(30, seedID(2))
	change(40, seedID(0), "v1", "9")
	deliver(50, line{Phase: "stream", Event: "REMOVE", Keys: attr("id", seedID(1)), Old: attr("version", seedVersion), Sequence: "10"})
	change(60, seedID(0), "v2", "11")
	change(70, seedID(0), "v2", "11")
	return history{
		items: 3, output: out,
		written: []write{{seedID(0), "v1", seedVersion}, {seedID(1), "", seedVersion}, {seedID(0), "v2", "v1"}},
		final:   map[string]string{seedID(0): "v2", seedID(2): seedVersion},
		observed: []observation{
			saved("backfill/1/segment/0-of-1", key0(0), 1, 1, false, 10),
			saved("backfill/1/segment/0-of-1", key0(2), 1, 2, true, 30),
			saved("backfill/1/done", "", 1, 1, true, 30),
			saved("stream/l/s", "9", 1, 1, false, 40),
			saved("stream/l/s", "9", 2, 0, false, 45),
			saved("stream/l/s", "11", 2, 1, false, 60),
		},
	}
}

func saved(partition, position string, fence, revision uint64, complete bool, end int64) observation {
	return observation{row{partition: partition, position: position, fence: fence, revision: revision, complete: complete}, end}
}

func key0(i int) string { return `{"id":{"S":"` + seedID(i) + `"}}` }

func TestJudge(t *testing.T) {
	first, gone, second := seedID(0)+" PUT v1", seedID(1)+" REMOVE seed", seedID(0)+" PUT v2"
	for _, tc := range []struct {
		name  string
		spoil func(*history)
		want  verdict
		says  string
	}{
		{"sound", func(*history) {}, verdict{}, ""},
		{"a change is lost", func(h *history) { delete(h.output.changes, first) }, verdict{lost: 1}, first},
		{"a removal is lost", func(h *history) { delete(h.output.changes, gone); h.output.replica[seedID(1)] = seedVersion }, verdict{lost: 2}, gone},
		{"an item of the backfill is lost", func(h *history) { delete(h.output.rows, seedID(2)) }, verdict{lost: 1}, "the backfill never delivered"},
		{"a removed item may be missing", func(h *history) { delete(h.output.rows, seedID(1)) }, verdict{}, ""},
		{"the replica is another", func(h *history) { h.final = maps.Clone(h.final); h.final[seedID(2)] = "v9" }, verdict{lost: 1}, "after all lines"},
		{"two changes of an item are swapped", func(h *history) {
			h.output.changes[first], h.output.changes[second] = place{end: 60, sequence: big.NewInt(9)}, place{end: 40, sequence: big.NewInt(11)}
			h.observed = h.observed[:3]
		}, verdict{disorder: 1}, "successor"},
		{"delivered and never written", func(h *history) { h.written = h.written[:2] }, verdict{unknown: 1}, "never written"},
		{"again under another number", func(h *history) {
			_ = h.output.add(line{Phase: "stream", Keys: attributes{"id": {seedID(0)}}, New: attributes{"version": {"v2"}}, Sequence: "12"})
		}, verdict{unknown: 1}, "came as 11 and as 12"},
		{"a position goes back", func(h *history) { h.observed[5].position = "8" }, verdict{regressions: 1}, "from 9 to 8"},
		{"a position is compared as a number", func(h *history) { h.observed[5].position = "10" }, verdict{}, ""},
		{"a position vanishes", func(h *history) { h.observed[5].position = "" }, verdict{regressions: 1}, "vanished"},
		{"an old owner's row returns", func(h *history) { h.observed[5].fence = 1 }, verdict{regressions: 1}, "2.0 to 1.1"},
		{"a completion is taken back", func(h *history) {
			h.observed = append(h.observed, saved("backfill/1/done", "", 2, 0, false, 60))
		}, verdict{regressions: 1}, "no more"},
		{"a segment goes back", func(h *history) {
			h.observed = append(h.observed, saved("backfill/1/segment/0-of-1", key0(1), 2, 0, true, 60))
		}, verdict{regressions: 1}, "segment"},
		{"the stream's position is ahead", func(h *history) { h.observed[5].end = 59 }, verdict{ahead: 1}, second},
		{"a segment's position is ahead", func(h *history) { h.observed[0].end = 9 }, verdict{ahead: 1}, seedID(0)},
		{"a segment is complete too early", func(h *history) { h.observed[1].end = 29 }, verdict{ahead: 1}, seedID(2)},
		{"the backfill is done too early", func(h *history) { h.observed[2].end = 29 }, verdict{ahead: 1}, "done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := sound()
			tc.spoil(&h)
			got := judge(h)
			words := strings.Join(got.examples, "\n")
			got.examples = nil
			require.Equal(t, tc.want, got, "%s", words)
			require.Contains(t, words, tc.says)
			require.Equal(t, tc.says == "", got.ok())
		})
	}
}

func TestTrend(t *testing.T) {
	lived := func(n int, value func(i int) int) []sample {
		var list []sample
		for i := range n {
			list = append(list, sample{age: time.Duration(i) * sampleEvery, fds: value(i), rss: 20_000 + 200*value(i), threads: 8})
		}
		return list
	}
	for _, tc := range []struct {
		name            string
		samples         []sample
		fds, memory     string
		short, atTheEnd int
	}{
		{"steady", lived(100, func(i int) int { return 12 + i%5 }), "flat", "flat", 30, 33},
		{"it grows at first", lived(100, func(i int) int { return min(12+4*i, 90) }), "flat", "flat", 30, 33},
		{"it leaks", lived(100, func(i int) int { return 12 + 2*i }), "growing", "growing", 30, 33},
		{"goroutines leak", lived(100, func(int) int { return 12 }), "flat", "growing", 30, 60},
		{"it did not live", lived(5, func(int) int { return 12 }), "unknown", "unknown", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := usageOf(&life{samples: tc.samples})
			u.goroutinesOfShort, u.goroutinesAtTheEnd = tc.short, tc.atTheEnd
			require.Equal(t, tc.fds, u.descriptors(), "%s", u.fds)
			require.Equal(t, tc.memory, u.memory(), "%s", u.rss)
		})
	}
}
