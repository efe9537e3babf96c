package checkpoint_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// journal is a log that is read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *journal) Reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.b.Reset()
}

// A store that is down is reported from the third failure in a row, and then less
// and less often, however many partitions fail; its return ends that.
func TestC7_AnOutageIsReportedFewTimesAndTheNextOneAgain(t *testing.T) {
	var log journal
	warned := func() int { return strings.Count(log.String(), "saves fail and are repeated") }
	bubble(t, func(b *scene) {
		var parts []*checkpoint.Partition[int]
		for _, name := range []string{"a", "b", "c"} {
			parts = append(parts, b.open(b.c, name))
		}
		healthy := b.open(b.c, "healthy")
		for outage := range 2 {
			b.fail(func(c storetest.Call) storetest.Fault {
				if c.Op == storetest.OpSave && c.Key.Partition != "healthy" {
					return storetest.Fault{Kind: storetest.Throttled}
				}
				return storetest.Fault{}
			})
			for _, p := range parts {
				b.track(p, outage)[0].Ack()
			}
			time.Sleep(120 * time.Millisecond) // one failure each, two at most
			require.Zero(b, warned())
			time.Sleep(5 * time.Second)
			require.Equal(b, 1, warned(), "one for all")
			require.Contains(b, log.String(), "tries=3 failing_partitions=3 next_report_in=10s")
			time.Sleep(25 * time.Second)
			require.Equal(b, 2, warned())
			require.Contains(b, log.String(), "next_report_in=20s")
			time.Sleep(3 * time.Hour)
			require.Contains(b, log.String(), "next_report_in=10m0s")
			require.LessOrEqual(b, warned(), 7+18+1, "twenty seconds, forty, …, and then every ten minutes")
			require.GreaterOrEqual(b, warned(), 7+15)
			b.works()
			require.NoError(b, b.c.Flush(b.Context()))
			require.Equal(b, 1, strings.Count(log.String(), "saves succeed again"), "once")
			b.track(healthy, outage)[0].Ack()
			require.NoError(b, b.c.Flush(b.Context()))
			require.Equal(b, 1, strings.Count(log.String(), "saves succeed again"))
			log.Reset()
		}
	}, checkpoint.Interval(0), checkpoint.Logger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
}
