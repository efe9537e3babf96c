package backfill

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
)

func TestB8_GenerationsAndPlansAreNeverReinterpreted(t *testing.T) {
	t.Run("crash at every operation of a restart", func(t *testing.T) {
		crashes := everyCrash(t, 5, func(s *sim) {
			first := s.begin(-1, false)
			for range 30 {
				first.step()
			}
			first.die()
			s.cfg.Restart = "again"
		})
		require.Greater(t, crashes, 10)
	})
	t.Run("five segments, then one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(30)
			first := newRig(t, s, func(_ *Config, src *source) { src.segments = 5 })
			first.next().deliver(t)
			first.end()
			second := newRig(t, s, func(_ *Config, src *source) { src.segments = 1 })
			second.next()
			require.Equal(t, 5, second.src.run.Plan.Segments)
			require.Len(t, second.src.parts, 5)
			second.end()
		})
	})
	t.Run("a forced new backfill that crashes is not complete", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			first := newRig(t, s)
			first.scanAllAcked()
			s.w.write(1)
			first.next().deliver(t)
			first.close()
			require.NoError(t, first.c.Close(bg))
			require.True(t, s.rows().Done)

			var cleared []checkpoint.Key
			again := func(c *Config, _ *source) {
				c.Restart = "monday"
				c.Hooks.Cleared = func(keys []checkpoint.Key) { cleared = keys }
			}
			second := newRig(t, s, again)
			second.next()
			require.Len(t, cleared, 5, "%v", cleared) // plan, done, two segments, the stream
			require.True(t, slices.Contains(cleared, checkpoint.Key{Pipeline: "p", Partition: "stream/log"}))
			second.end()
			st := s.rows()
			require.EqualValues(t, 2, st.Generation)
			require.Empty(t, st.Stale)
			require.False(t, st.Done)

			// The word was obeyed: a crash does not restart it again.
			third := newRig(t, s, again)
			third.scanAllAcked()
			third.end()
			require.EqualValues(t, 2, s.rows().Generation)
			fourth := newRig(t, s, func(c *Config, _ *source) { c.Restart = "" })
			_ = fourth.nextErr(time.Second)
			require.Equal(t, Streaming, fourth.r.Phase())
			fourth.end()
		})
	})
	t.Run("a plan of something else", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := calm(6)
			first := newRig(t, s)
			first.next()
			first.end()
			second := newRig(t, s, func(c *Config, _ *source) { c.Source = "another world" })
			err := second.nextErr(time.Second)
			require.ErrorIs(t, err, ErrPlan)
			require.ErrorContains(t, err, `pipeline "p" backfills world, the configuration says another world`)
			second.end()
		})
	})
	t.Run("rows that cannot be understood", func(t *testing.T) {
		for name, content := range map[string]string{
			"backfill/1/plan":         `{"version":99}`,
			"backfill/2/plan":         `not even JSON`,
			"backfill/3/plan":         `{"version":1,"segments":-4}`,
			"backfill/1/something":    `x`,
			"backfill/1/segment/9-of": `x`,
		} {
			bubble(t, func(t *testing.T) {
				s := calm(2)
				row, err := s.mem.Claim(bg, checkpoint.Key{Pipeline: "p", Partition: name}, "test")
				require.NoError(t, err)
				row.Position = content
				row.Revision++
				require.NoError(t, s.mem.Save(bg, row))
				r := newRig(t, s)
				err = r.nextErr(time.Second)
				require.ErrorIs(t, err, ErrPlan)
				require.ErrorContains(t, err, "p/"+name)
				r.end()
			})
		}
	})
	t.Run("two plan at once: one plan stands", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			rapid.SyncTest(rt, func(rt *rapid.T) {
				mem := checkpoint.NewMemory()
				plans := make([]Plan, 2)
				errs := make([]error, 2)
				order := rapid.SliceOfN(rapid.IntRange(0, 1), 12, 12).Draw(rt, "order")
				turns := []chan struct{}{make(chan struct{}, 20), make(chan struct{}, 20)}
				for i := range 2 {
					go func() {
						l := newLedger(&steps{Store: mem, turn: turns[i]}, "p", "", time.Now)
						errs[i] = l.propose(bg, 1, Plan{Anchor: fmt.Sprint(i)}, true)
						if errs[i] == nil {
							st, err := l.read(bg)
							plans[i], errs[i] = st.Plan, err
						}
					}()
				}
				for _, i := range order {
					turns[i] <- struct{}{}
					synctest.Wait()
				}
				for range 20 {
					for i := range 2 {
						select {
						case turns[i] <- struct{}{}:
						default:
						}
					}
				}
				synctest.Wait()
				st, err := newLedger(mem, "p", "", time.Now).read(bg)
				require.NoError(rt, err)
				for i := range 2 {
					if errs[i] != nil {
						require.ErrorIs(rt, errs[i], ErrSuperseded)
					} else {
						require.Equal(rt, st.Plan, plans[i])
					}
				}
				require.False(rt, errs[0] != nil && errs[1] != nil, "both failed")
			})
		})
	})
}

// steps lets one store operation through for each turn.
type steps struct {
	checkpoint.Store
	turn chan struct{}
}

func (s *steps) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	<-s.turn
	return s.Store.Claim(ctx, key, owner)
}

func (s *steps) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	<-s.turn
	return s.Store.Save(ctx, cp)
}
