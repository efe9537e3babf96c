package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// Every history of a few events, one after another: acks in any order, a seal,
// saves that are answered, refused, lost or late, a late write that arrives, a
// second process that takes over, a crash. What the random worlds find with
// luck, this finds for certain, as far as it reaches.

const historyDepth = 5 // ACKGATE_HISTORY_DEPTH overrides it

// gate holds each save until the history says what becomes of it.
type gate struct {
	*judge
	calls chan *heldSave // capacity 1: saves of a partition come one by one
	late  []checkpoint.Checkpoint
}

type heldSave struct {
	cp     checkpoint.Checkpoint
	answer chan error
}

var errAnswer = errors.New("no answer")

func (g *gate) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	held := &heldSave{cp: cp, answer: make(chan error, 1)}
	g.calls <- held
	select {
	case err := <-held.answer:
		return err
	case <-ctx.Done():
		select { // nobody answers a call that was given up
		case <-g.calls:
		default:
		}
		return ctx.Err()
	}
}

// history is one run: choices says which of the possible events comes next.
type history struct {
	*testing.T
	g       *gate
	c       *checkpoint.Committer
	a       *attempt
	events  []string
	held    *heldSave
	stolen  *checkpoint.Committer
	crashed bool
}

func TestC2_EverySmallHistory(t *testing.T) {
	depth := historyDepth
	if s := os.Getenv("ACKGATE_HISTORY_DEPTH"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		depth = n
	}
	var choices, widths []int
	histories := 0
	for {
		widths = runHistory(t, choices, depth)
		if t.Failed() {
			return
		}
		histories++
		// The next one in order: the last event that has another alternative.
		choices = append(choices, make([]int, len(widths)-len(choices))...)
		for len(choices) > 0 && choices[len(choices)-1] == widths[len(choices)-1]-1 {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			break
		}
		choices[len(choices)-1]++
	}
	t.Logf("%d histories of up to %d events", histories, depth)
	if histories < 1000 {
		t.Fatal("too few")
	}
}

// runHistory follows choices, and then takes the first possible event each time.
// It returns how many were possible at each step.
func runHistory(t *testing.T, choices []int, depth int) (widths []int) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{T: t, g: &gate{judge: newJudge(), calls: make(chan *heldSave, 1)}}
		h.open()
		for step := range depth {
			possible := h.possible()
			if len(possible) == 0 {
				break
			}
			choice := 0
			if step < len(choices) {
				choice = choices[step]
			}
			widths = append(widths, len(possible))
			h.events = append(h.events, possible[choice].name)
			possible[choice].do()
			h.check()
		}
		h.end()
	})
	return widths
}

type event struct {
	name string
	do   func()
}

func (h *history) open() {
	h.c = checkpoint.NewCommitter(&witness{Store: h.g, j: h.g.judge}, "history", checkpoint.Interval(0),
		checkpoint.SaveTimeout(0), checkpoint.Backoff(time.Millisecond, time.Millisecond), checkpoint.Logger(quiet))
	h.a = h.attempt(h.c, 3)
}

// attempt opens the partition and reads the next n records.
func (h *history) attempt(c *checkpoint.Committer, n int) *attempt {
	ctx := context.Background()
	p, resumed, err := checkpoint.Open(ctx, c, "a", checkpoint.Integer[int]{})
	if err != nil {
		h.Fatal(h.events, err)
	}
	a := &attempt{key: p.Key(), resumed: resumed, p: p, next: at(resumed.Checkpoint) + 1, answered: at(resumed.Checkpoint), sealed: resumed.Complete}
	h.g.mu.Lock()
	h.g.attempts[resumed.Owner] = a
	h.g.mu.Unlock()
	if resumed.Complete {
		return a
	}
	for range n {
		ticket, err := p.TrackAt(ctx, a.next, eventTime(a.next), 1)
		if err != nil {
			h.Fatal(h.events, err)
		}
		a.items = append(a.items, &item{position: a.next, ticket: ticket})
		a.next++
	}
	return a
}

func (h *history) possible() (events []event) {
	add := func(name string, do func()) { events = append(events, event{name, do}) }
	if h.held == nil {
		select {
		case h.held = <-h.g.calls:
		default:
		}
	}
	for i, it := range h.a.items {
		if !it.settled {
			add(fmt.Sprint("ack ", i+1), func() { h.ack(h.a, it) })
		}
	}
	if !h.a.sealed {
		add("seal", h.seal)
	}
	if h.held != nil {
		add("save", func() { h.reply(h.g.judge.Save(context.Background(), h.held.cp)) })
		add("refuse", func() { h.reply(errAnswer) })
		add("lose", func() {
			if err := h.g.judge.Save(context.Background(), h.held.cp); err != nil {
				h.reply(err)
			} else {
				h.reply(errAnswer)
			}
		})
		if len(h.g.late) < 2 {
			add("delay", func() {
				h.g.late = append(h.g.late, h.held.cp)
				h.reply(errAnswer)
			})
		}
	}
	for i := range h.g.late {
		add(fmt.Sprint("arrive ", i+1), func() {
			_ = h.g.judge.Save(context.Background(), h.g.late[i])
			h.g.late = append(h.g.late[:i], h.g.late[i+1:]...)
		})
	}
	if h.stolen == nil {
		add("steal", h.steal)
	}
	if !h.crashed {
		add("crash", h.crash)
	}
	return events
}

func (h *history) ack(a *attempt, it *item) {
	h.g.mu.Lock()
	it.settled = true
	if h.g.delivered[a.key] == nil {
		h.g.delivered[a.key] = make(map[int]bool)
	}
	h.g.delivered[a.key][it.position] = true
	h.g.mu.Unlock()
	it.ticket.Ack()
}

func (h *history) seal() {
	h.g.mu.Lock()
	h.a.sealed = true
	h.g.mu.Unlock()
	h.a.p.Seal()
}

// reply answers the save in flight, and waits until it would be repeated.
func (h *history) reply(err error) {
	h.held.answer <- err
	h.held = nil
	time.Sleep(2 * time.Millisecond)
}

// steal lets a process with a good store take the partition over and get one
// record further.
func (h *history) steal() {
	h.stolen = checkpoint.NewCommitter(h.g.judge, "history", checkpoint.Logger(quiet))
	b := h.attempt(h.stolen, 1)
	for _, it := range b.items {
		h.ack(b, it)
	}
	if err := h.stolen.Flush(context.Background()); err != nil {
		h.Fatal(h.events, err)
	}
}

// crash forgets the process; what it has in flight is never applied, unless it
// was delayed before.
func (h *history) crash() {
	h.crashed = true
	h.close(h.c)
	h.a.over = true
	h.held = nil
	select {
	case <-h.g.calls:
	default:
	}
	h.open()
}

func (h *history) close(c *checkpoint.Committer) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(ctx)
	synctest.Wait()
}

func (h *history) check() {
	synctest.Wait()
	h.g.mu.Lock()
	defer h.g.mu.Unlock()
	if durable, _ := h.a.p.Durable(); durable != h.a.answered {
		h.g.failf("C5: %d counts as durable, the store answered %d", durable, h.a.answered)
	}
	if h.a.fenced != errors.Is(h.a.p.Err(), checkpoint.ErrFenced) {
		h.g.failf("C3: fenced: %v, and says %v", h.a.fenced, h.a.p.Err())
	}
	if len(h.g.broken) > 0 {
		h.Errorf("%s: %s", strings.Join(h.events, ", "), h.g.broken[0])
		h.g.broken = nil
	}
}

// end answers all saves, and the last holder must come to the end of its own.
func (h *history) end() {
	for range 20 {
		h.check()
		h.possible()
		if h.held == nil {
			break
		}
		h.reply(h.g.judge.Save(context.Background(), h.held.cp))
	}
	h.check()
	if err := h.a.p.Err(); err == nil {
		want, ok := h.a.p.Position()
		if !ok {
			want = at(h.a.resumed.Checkpoint)
		}
		row := h.g.rows[h.a.key]
		if at(row) != want && h.stolen == nil {
			h.Errorf("%s: the row says %s, the frontier is %d", strings.Join(h.events, ", "), row, want)
		}
		settled := h.a.sealed
		for _, it := range h.a.items {
			settled = settled && it.settled
		}
		if settled && !row.Complete && !h.a.resumed.Complete {
			h.Errorf("%s: settled, and never complete: %s", strings.Join(h.events, ", "), row)
		}
	}
	h.close(h.c)
	if h.stolen != nil {
		h.close(h.stolen)
	}
	h.check()
}
