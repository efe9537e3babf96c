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
	t.Run("acks of the stream after the end", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(1)
			r := newRig(t, s)
			r.scanAllAcked()
			s.w.write(0)
			h := r.next()
			r.r.Abort()
			require.ErrorIs(t, h.ack(bg, nil), ErrAttemptOver)
			require.ErrorIs(t, h.ack(bg, errors.New("no")), ErrAttemptOver)
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
			require.ErrorIs(t, old.waitErr(), ErrSuperseded)
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
	t.Run("a discard that cannot be counted any more ends the attempt at once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(8)
			old := newRig(t, s)
			h := old.next()
			newRig(t, s).next()
			require.ErrorIs(t, h.ack(bg, Discard(nil)), ErrSuperseded)
			require.ErrorIs(t, old.nextErr(time.Second), ErrSuperseded, "not a batch")
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
	t.Run("an attempt that is overtaken as it opens its segments ends before it reads, and the newest asks to be begun again", func(t *testing.T) {
		for name, find := range map[string]func(t *testing.T, fresh *rig, out []*handed) error{
			"it reads":                  func(t *testing.T, fresh *rig, out []*handed) error { return fresh.readOn(out[0]) },
			"it acks what was fenced":   func(t *testing.T, fresh *rig, out []*handed) error { return ackedErr(t, fresh, out) },
			"it waits, and nobody acks": func(t *testing.T, fresh *rig, _ []*handed) error { return fresh.waitErr() },
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := calm(8)
					old := newRig(t, s)
					var fresh *rig
					var out []*handed
					old.store.failOp = func(op string) error {
						if op != "Claim backfill/1/segment/0-of-2" {
							return nil
						}
						old.store.failOp = nil
						fresh = newRig(t, s)
						if name == "it reads" {
							out = append(out, fresh.next())
						} else {
							out = fresh.scanAll()
						}
						return nil
					}
					began := time.Now()
					require.ErrorIs(t, old.nextErr(time.Hour), ErrSuperseded, "not a batch")
					require.Zero(t, time.Since(began))
					err := find(t, fresh, out)
					require.ErrorIs(t, err, ErrDisplaced)
					require.NotErrorIs(t, err, ErrSuperseded)
					require.NotErrorIs(t, err, checkpoint.ErrFenced)
					require.ErrorIs(t, fresh.nextErr(time.Second), ErrDisplaced, "it is over")
					old.end()
					fresh.end()
					newRig(t, s).scanAllAcked()
				})
			})
		}
	})
	t.Run("a store that does not answer leaves the question open", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(8)
			one := func(_ *Config, src *source) { src.segments = 1 }
			old := newRig(t, s, one)
			h := old.next()
			fresh := newRig(t, s, one)
			fresh.next()
			down := errors.New("test: throttled")
			h.deliver(t)
			_ = old.c.Flush(bg)
			old.store.failOp = func(string) error { return down }
			for range 3 {
				err := old.nextErr(time.Minute)
				require.ErrorIs(t, err, down)
				require.NotErrorIs(t, err, ErrSuperseded)
				require.NotErrorIs(t, err, checkpoint.ErrFenced)
			}
			old.store.failOp = nil
			require.ErrorIs(t, old.nextErr(time.Minute), ErrSuperseded)
			old.end()
			fresh.end()
		})
	})
	t.Run("a refused ack wakes the barrier, and is not forgotten while the store is down", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(8)
			one := func(_ *Config, src *source) { src.segments = 1 }
			old := newRig(t, s, one)
			batches := old.scanAll()
			newRig(t, s, one).scanAllAcked()
			batches[0].deliver(t)
			_ = old.c.Flush(bg)
			down := errors.New("test: throttled")
			old.store.failOp = func(string) error { return down }
			began := time.Now()
			time.AfterFunc(10*time.Millisecond, func() { _ = batches[1].ack(bg, nil) })
			require.ErrorIs(t, old.nextErr(time.Hour), down)
			require.Equal(t, 10*time.Millisecond, time.Since(began))
			old.store.failOp = nil
			require.ErrorIs(t, old.nextErr(time.Hour), ErrSuperseded)
			require.Equal(t, 10*time.Millisecond, time.Since(began))
			old.end()
		})
	})
}

// readOn delivers a batch, which finds out that its segment is lost, and reads on.
func (r *rig) readOn(h *handed) error {
	h.deliver(r.t)
	_ = r.c.Flush(bg)
	for {
		if _, _, err := r.readFor(time.Hour); err != nil {
			return err
		}
	}
}

// ackedErr acks until an ack is refused, and reads.
func ackedErr(t *testing.T, r *rig, out []*handed) error {
	for i, h := range out {
		if err := h.ack(bg, nil); err != nil {
			require.Positive(t, i)
			require.ErrorIs(t, err, checkpoint.ErrFenced)
			break
		}
		_ = r.c.Flush(bg)
	}
	began := time.Now()
	err := r.nextErr(time.Hour)
	require.Zero(t, time.Since(began))
	return err
}

// waitErr reads in the barrier until something else than a flush is asked for.
func (r *rig) waitErr() error {
	for range 1000 {
		if err := r.nextErr(24 * time.Hour); !errors.Is(err, ErrFlush) {
			return err
		}
	}
	return ErrFlush
}
