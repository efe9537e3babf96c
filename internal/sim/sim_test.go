package sim

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The first seeds, or as many as SIM_SEEDS says: whatever the deployment goes
// through, nothing is lost, overtaken, taken back or stuck.
func TestDeployments(t *testing.T) {
	n := 40
	if v, err := strconv.Atoi(os.Getenv("SIM_SEEDS")); err == nil {
		n = v
	}
	var total Report
	for seed := range n {
		r := Run(t, uint64(seed+1), nil)
		require.False(t, r.Bad(), "%s\nsee it: go run ./internal/simulate -v -seed %d", r.First, seed+1)
		total = total.Add(r)
	}
	t.Logf("%v\n%s", total, total.Details())
	// The worlds must have been worth it.
	for name, count := range map[string]int{
		"crashes": total.Crashes, "duplicates": total.Duplicates, "zombies": total.Zombies,
		"fenced": total.Fenced, "backfills again": total.Again, "gaps": total.Gaps,
	} {
		require.NotZero(t, count, "no %s in %d worlds", name, n)
	}
}

// A seed reproduces its script to the byte, always. A whole run comes out the same
// to the byte only if nothing makes the library retry, since the jitter of its
// retries cannot be seeded, and if no two goroutines meet at one instant, when the
// scheduler decides: nine in ten quiet worlds are so.
func TestSeedReproducesItsRun(t *testing.T) {
	scanOrders()
	again := func(s script) (Report, []byte) {
		var r Report
		var log bytes.Buffer
		synctest.Test(t, func(*testing.T) { r = run(s, &log) })
		return r, log.Bytes()
	}
	same, crashes := 0, 0
	for seed := range uint64(30) {
		require.Equal(t, newScript(seed).String(), newScript(seed).String())
		s := newScript(seed).quiet()
		a, logA := again(s)
		b, logB := again(s)
		require.Equal(t, a.Script, b.Script)
		crashes += a.Crashes
		if a.Log == b.Log {
			same++
			require.Equal(t, logA, logB)
		} else {
			t.Logf("seed %d: %s", seed, firstDifference(logA, logB))
		}
	}
	t.Logf("%d of 30 quiet worlds ran the same to the byte; %d crashes", same, crashes)
	require.Greater(t, same, 20)
	require.NotZero(t, crashes)
}

func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return string(x[i]) + "\n" + string(y[i])
		}
	}
	return "the length"
}
