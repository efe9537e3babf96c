package sim

import (
	"bytes"
	"os"
	"slices"
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
		require.False(t, r.Bad(), "%s\nsee it: go run $(tools/steady.sh) ./internal/simulate -v -seed %d", r.First, seed+1)
		total = total.Add(r)
	}
	t.Logf("%v\n%s", total, total.Details())
	// The worlds must have been worth it.
	for name, count := range map[string]int{
		"crashes": total.Crashes, "duplicates": total.Duplicates, "zombies": total.Zombies,
		"fenced": total.Fenced, "backfills again": total.Again, "gaps": total.Gaps, "streams replaced": total.Replaced, "fail-overs": total.Failovers,
	} {
		require.NotZero(t, count, "no %s in %d worlds", name, n)
	}
}

// A seed reproduces its run to the byte: every write, call, retry, save and batch,
// and when. The one thing left that may come between is the Go runtime, which
// interrupts a goroutine that it finds running for 10 ms of real time, as on a busy
// machine: then the seed is run again, until two runs are the same.
func TestSeedReproducesItsRun(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector has the scheduler choose at random")
	}
	var total Report
	for seed := range uint64(40) {
		var traces [][]byte
		var reports []Report
		for {
			var log bytes.Buffer
			r := Run(t, seed, &log)
			before := slices.IndexFunc(traces, func(b []byte) bool { return bytes.Equal(b, log.Bytes()) })
			if before >= 0 {
				require.Equal(t, reports[before], r)
				total = total.Add(r)
				break
			}
			traces, reports = append(traces, log.Bytes()), append(reports, r)
			require.Equal(t, reports[0].Script, r.Script)
			if n := len(traces); n > 1 {
				t.Logf("seed %d: %s", seed, firstDifference(traces[0], traces[n-1]))
				require.Less(t, n, 5, "seed %d runs another way each time", seed)
			}
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
