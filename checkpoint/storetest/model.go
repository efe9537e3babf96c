package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/ackgate/ackgate/checkpoint"
)

// randomCalls makes the same calls on the store and on checkpoint.Memory: a few
// holders of a few partitions that claim, save, repeat, wake up late, reopen
// and delete. Every answer and every row must be the same.
func randomCalls(s *suite) {
	const calls, holders, partitions = 250, 3, 3
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 0))
	model := checkpoint.NewMemory()

	type holding struct{ cp, before checkpoint.Checkpoint }
	held := make(map[[2]int]holding)
	for n := range calls {
		who := [2]int{d.IntN(holders), d.IntN(partitions)}
		key := s.key(fmt.Sprint("p/", who[1]))
		h := held[who]
		var step string
		var got, want error
		switch op := d.IntN(10); {
		case op == 0 && d.IntN(4) == 0:
			step = "Delete"
			got, want = s.store.Delete(s.ctx, key), model.Delete(s.ctx, key)
		case op <= 2 || h.cp.Owner == "":
			step = "Claim"
			owner := checkpoint.NewOwner(strconv.Itoa(who[0]))
			a, errA := s.store.Claim(s.ctx, key, owner)
			b, errB := model.Claim(s.ctx, key, owner)
			got, want = errA, errB
			if got == nil && want == nil {
				s.same(a, b)
			}
			h = holding{cp: b, before: b}
		default:
			cp := h.cp
			switch op {
			case 3:
				step, cp = "Save again", h.cp
			case 4:
				step, cp = "Save late", h.before
			default:
				step = "Save"
				cp.Revision++
				cp.Position = strconv.Itoa(n)
				cp.Complete = d.IntN(8) == 0
				if d.IntN(2) == 0 {
					cp.EventTime = aTime()
				}
			}
			got, want = s.store.Save(s.ctx, cp), model.Save(s.ctx, cp)
			if want == nil && step == "Save" {
				h = holding{cp: cp, before: h.cp}
			}
		}
		held[who] = h
		if class(got) != class(want) {
			s.Fatalf("call %d, %s of %s: %v, want %v", n, step, key, got, want)
		}
		row, err := model.Load(s.ctx, key)
		if err == nil {
			s.wantRow(row)
		} else if _, err := s.store.Load(s.ctx, key); !errors.Is(err, checkpoint.ErrNotFound) {
			s.Fatalf("call %d, %s of %s: Load: %v, want ErrNotFound", n, step, key, err)
		}
	}
}

// class is what an error means to the caller.
func class(err error) string {
	for _, known := range []error{checkpoint.ErrFenced, checkpoint.ErrComplete, checkpoint.ErrNotFound} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return "none"
}
