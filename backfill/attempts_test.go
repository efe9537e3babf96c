package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

// Several attempts of one pipeline live side by side, as after reconnects that
// did not end what was before: their late reads, acks and nacks, in any order,
// never make anything durable that was not delivered, and never hold the newest.
func TestB4_OlderAttemptsNeitherWedgeNorAdvance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "") }
			s := newSim(pick, 1+pick(8))
			s.keepZombies = true
			s.redeliver = pick(2) == 0
			live := []*attempt{s.begin(-1, false)}
			for range rapid.IntRange(10, 150).Draw(rt, "steps") {
				if len(live) < 4 && pick(20) == 0 {
					live = append(live, s.begin(-1, false))
				}
				live[pick(len(live))].step() // also when it is over: its acks come late
				s.checkDurable()
			}
			s.settleDown() // with the others still alive
			for _, a := range live {
				for range 5 {
					a.deliverOne()
				}
				s.checkDurable()
				a.die()
			}
			require.Empty(rt, s.faults)
			lost, _ := s.verify() // zombies write what they like, when they like
			require.Zero(rt, lost)
		})
	})
}

func TestB4_NamedCases(t *testing.T) {
	t.Run("acks after the end change nothing and say so", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newRig(t, calm(4))
			h := r.next()
			r.r.Abort()
			require.ErrorIs(t, h.ack(bg, nil), ErrAttemptOver)
			require.ErrorIs(t, h.ack(bg, errors.New("no")), ErrAttemptOver)
			require.ErrorIs(t, r.nextErr(time.Second), ErrStopped)
			r.end()
		})
	})
	t.Run("a superseded attempt does not wait for ever", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(4)
			old := newRig(t, s)
			batches := old.scanAll()
			fresh := newRig(t, s)
			fresh.scanAllAcked()
			began := time.Now()
			for {
				err := old.nextErr(24 * time.Hour)
				if errors.Is(err, ErrFlush) {
					continue
				}
				require.ErrorIs(t, err, ErrSuperseded)
				break
			}
			require.LessOrEqual(t, time.Since(began), time.Minute, "found out with the first stall report")
			_ = batches[0].ack(bg, nil)
			old.end()
			require.True(t, s.rows().Done)
			fresh.end()
		})
	})
	t.Run("an ack that is refused as fenced ends the attempt at once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(4)
			one := func(_ *Config, src *source) { src.segments = 1 }
			old := newRig(t, s, one)
			batches := old.scanAll()
			newRig(t, s, one).scanAllAcked()
			batches[0].deliver(t) // the older one does not know yet
			_ = old.c.Flush(bg)   // now it does, of this segment
			require.ErrorIs(t, batches[1].ack(bg, nil), checkpoint.ErrFenced)
			began := time.Now()
			require.ErrorIs(t, old.nextErr(time.Hour), ErrSuperseded)
			require.Zero(t, time.Since(began))
		})
	})
	t.Run("a superseded attempt runs no hook", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(1)
			var ran []string
			hook := func(name string) func(*Config, *source) {
				return func(_ *Config, src *source) {
					src.noSegment = true // nothing fences it but the done row
					src.hook = func(context.Context, Summary) error { ran = append(ran, name); return nil }
				}
			}
			old := newRig(t, s, hook("old"))
			batches := old.scanAll()
			fresh := newRig(t, s, hook("fresh"))
			fresh.scanAllAcked()
			ackAll(t, batches)
			require.ErrorIs(t, old.nextErr(time.Minute), ErrSuperseded)
			require.Equal(t, []string{"fresh"}, ran)
			old.end()
			fresh.end()
		})
	})
}
