package sim

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/shards"
)

// Histories drawn at random: whatever the order of rotations, splits, failing
// calls, expired iterators, store outages, late and failing sinks, stops and
// crashes, nothing owed is lost, no child is early, LATEST is not asked for
// again, and nothing durable is ahead of the sink. SIM_HISTORIES asks for more.
func TestS2_NothingIsLostInAnyHistory(t *testing.T) {
	n := 6
	if v, err := strconv.Atoi(os.Getenv("SIM_HISTORIES")); err == nil {
		n = v
	}
	settled, repeated, crashes := 0, 0, 0
	draw := rapid.Custom(func(t *rapid.T) Config {
		return Config{
			Seed:       rapid.Uint64().Draw(t, "seed"),
			Shards:     rapid.IntRange(1, 6).Draw(t, "shards"),
			Duration:   36 * time.Hour,
			WriteEvery: rapid.SampledFrom([]time.Duration{5 * time.Minute, time.Hour}).Draw(t, "write"),
			Burst:      rapid.IntRange(1, 40).Draw(t, "burst"),
			CrashEvery: rapid.SampledFrom([]time.Duration{time.Hour, 5 * time.Hour}).Draw(t, "crash"),
			Order:      rapid.SampledFrom([]shards.Order{shards.Strict, shards.Relaxed}).Draw(t, "order"),
			Faults:     rapid.SampledFrom([]float64{0.001, 0.05, 0.2}).Draw(t, "faults"),
			Reshape:    rapid.Bool().Draw(t, "reshape"),
		}
	})
	for i := range n {
		cfg := draw.Example(i)
		var r Report
		synctest.Test(t, func(*testing.T) { r = Run(cfg) })
		require.False(t, r.Bad(), "%+v\n%v\n%s\n%s", cfg, r.Err, r.Line(cfg), r.Details())
		settled, repeated, crashes = settled+r.Settled, repeated+r.Repeated, crashes+r.Crashes
	}
	// The histories must have been worth it.
	require.NotZero(t, repeated, "no crash came between an ack and its save")
	require.Greater(t, crashes, n)
	t.Logf("%d histories: %d records settled, %d of them again, %d crashes", n, settled, repeated, crashes)
}
