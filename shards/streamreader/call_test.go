package streamreader

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/shards"
)

// Two failures with an hour of back-pressure between them are not an hour of
// failing; failing for half an hour is.
func TestPatienceIsForFailingNotForWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{}
		cfg.setDefaults()
		r := &Reader{cfg: cfg}
		var tr trouble
		fail := func() error {
			return tr.after(t.Context(), r, shards.GetRecords, shards.BackOff, "shard s", errNet)
		}
		require.NoError(t, fail())
		time.Sleep(time.Hour)
		require.NoError(t, fail())

		tr.clear()
		began := time.Now()
		var err error
		for n := 0; err == nil; n++ {
			require.Less(t, n, 200, "it must end")
			err = fail()
		}
		require.ErrorIs(t, err, ErrGivenUp)
		require.ErrorIs(t, err, errNet)
		require.Greater(t, time.Since(began), 30*time.Minute)
		require.Less(t, time.Since(began), 31*time.Minute)
	})
}

func TestBackoffGrowsToHalfAMinute(t *testing.T) {
	for n := 1; n < 100; n++ {
		d := backoff(time.Second, "shard 1", n)
		most := min(time.Second<<min(n-1, 10), 30*time.Second)
		require.LessOrEqual(t, d, most)
		require.GreaterOrEqual(t, d, most/2)
	}
}
