package backfill

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// everyCrash runs one fixed pipeline again and again, dying at its first, second,
// third … store operation, before and after it took effect, until it does not
// die any more; each time the next attempts bring it to its end.
func everyCrash(t *testing.T, seed int, setUp func(*sim)) (crashes int) {
	t.Helper()
	for n := 0; ; n++ {
		died := false
		for _, after := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				turn := seed
				s := newSim(func(n int) int { turn++; return (turn * 7919 >> 3) % n }, 7)
				if setUp != nil {
					setUp(s)
				}
				a := s.begin(n, after)
				for range 150 {
					if !a.step() {
						break
					}
				}
				died = died || a.store.isDead()
				a.die()
				s.checkDurable()
				s.settleDown()
				lost, stale := s.verify()
				require.Empty(t, s.faults, "operation %d, after %v", n, after)
				require.Zero(t, lost+stale, "operation %d, after %v", n, after)
			})
		}
		if !died {
			return n
		}
	}
}
