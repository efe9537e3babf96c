package streamreader

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Between the report of a gap and the read behind it the horizon moves on: what
// is trimmed meanwhile must not be lost without a word. Found by the simulation of
// a whole deployment.
func TestS4_HorizonMovesAfterTheReport(t *testing.T) {
	for _, everything := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, streamtest.Config{Seed: 1}, 1)
			w.begin(checkpoint.StartTrimHorizon)
			w.put(1)
			r := w.start(nil)
			w.awaitAll(time.Minute, 1)
			r.drain()
			for range 3 { // versions 2, 3 and 4
				time.Sleep(time.Minute)
				w.put(1)
			}
			if everything {
				w.rotate() // the shard ends with nothing left in it
			}
			require.NoError(t, w.service.Trim(table, 90*time.Second))
			var once sync.Once
			r = w.start(nil, func(c *Config) {
				c.Gap = ContinueOn
				c.Client.(*client).before = func(op string) error {
					w.mu.Lock()
					reported := len(w.gaps) > 0
					w.mu.Unlock()
					if op == "GetRecords" && reported {
						once.Do(func() {
							age := 30 * time.Second
							if everything {
								age = 0
							}
							_ = w.service.Trim(table, age)
						})
					}
					return nil
				}
			})
			time.Sleep(time.Minute)
			r.crash()
			require.Equal(t, everything, !w.got("k0#4"))
			require.False(t, w.got("k0#3"))
			last := w.gaps[len(w.gaps)-1]
			if everything {
				require.True(t, last.Before.IsZero() || last.Gone, "version 3 and 4 are gone too: %v", w.gaps)
			} else {
				require.Equal(t, w.service.Shards(table)[0].First, last.Before.String(), "version 3 is gone too: %v", w.gaps)
			}
		})
	}
}
