package sim

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Alone()
	goleak.VerifyTestMain(m)
}

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
		"fenced": total.Fenced, "backfills again": total.Again, "gaps": total.Gaps, "streams replaced": total.Replaced,
	} {
		require.NotZero(t, count, "no %s in %d worlds", name, n)
	}
}

// A seed reproduces its run to the byte: every write, call, retry, save and batch,
// and when. The one thing left that may come between is the Go runtime, which
// interrupts a goroutine that it finds running for 10 ms of real time, as on a busy
// machine: then the seed is run once more.
func TestSeedReproducesItsRun(t *testing.T) {
	again := func(seed uint64) (Report, []byte) {
		var log bytes.Buffer
		r := Run(t, seed, &log)
		return r, log.Bytes()
	}
	var total Report
	for seed := range uint64(40) {
		first, trace := again(seed)
		total = total.Add(first)
		for try := 1; ; try++ {
			second, repeated := again(seed)
			require.Equal(t, first.Script, second.Script)
			if bytes.Equal(trace, repeated) {
				require.Equal(t, first, second)
				break
			}
			require.Less(t, try, 3, "seed %d runs another way each time:\n%s", seed, firstDifference(trace, repeated))
			t.Logf("seed %d: %s", seed, firstDifference(trace, repeated))
		}
	}
	require.NotZero(t, total.Crashes)
	require.NotZero(t, total.Duplicates)
	require.NotZero(t, total.Zombies)
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
