package main

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ackgate/ackgate/examples/internal/cdc"
)

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" { // the demo runs its own program again
		os.Exit(cdc.Main(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// TestDemo is the demo, small: kills in both phases, and nothing lost.
func TestDemo(t *testing.T) {
	d := demo{items: 4000, changes: 2000, kills: 4, seed: uint64(time.Now().UnixNano()), during: 2 * time.Second, limit: 50 * time.Second, dir: t.TempDir()}
	if ok, err := d.run(t.Context()); err != nil || !ok {
		t.Fatalf("seed %d: ok %t, error %v\n%s", d.seed, ok, err, d.lastWords())
	}
}

// TestKillPoints: in rising order, at least two in each phase, and each with
// work left behind it.
func TestKillPoints(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 0))
		kills := 4 + int(seed%9)
		points := killPoints(r, kills, 20_000, 15_000)
		if len(points) != kills {
			t.Fatalf("%d points for %d kills", len(points), kills)
		}
		var rows, changes int
		for i, p := range points {
			switch {
			case p.changes == 0 && p.rows > 0:
				rows++
			case p.rows == 0 && p.changes > 0:
				changes++
			}
			if i > 0 && points[i-1].changes == 0 == (p.changes == 0) && points[i-1].rows+points[i-1].changes >= p.rows+p.changes {
				t.Fatalf("seed %d: kill %d at %+v does not follow %+v", seed, i, p, points[i-1])
			}
			if p.rows > 20_000-20_000/(kills/2+1) || p.changes > 15_000-15_000/(kills-kills/2+1) {
				t.Fatalf("seed %d: kill at %+v leaves too little to be killed in", seed, p)
			}
		}
		if rows < 2 || changes < 2 {
			t.Fatalf("seed %d: %d kills in the backfill, %d in the stream", seed, rows, changes)
		}
	}
}
