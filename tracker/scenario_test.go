package tracker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// scenario runs one file of testdata: what happened in somebody's production,
// in our words, on the real tracker. Its commands, one a line within a step:
//
//	new [limit=N]            a new attempt; the tickets of earlier ones are kept
//	track NAME [at=POS] [weight=N] [hold] [cancelled]
//	ack NAME…    discard NAME…    nack NAME…
//	seal    abandon
//	durable                  what a committer would store now
//	advances                 how often OnAdvance ran in this scenario
//	stats
//
// track with cancelled is a call whose context has ended; over a limit it is
// TryTrack. Every step ends with the frontier.
type scenario struct {
	f       *Frontier[string]
	tickets map[string]Ticket[string]
	hooks   int
}

func (s *scenario) start(limit int64) {
	s.f = New[string](Config{Limit: limit, OnAdvance: func() { s.hooks++ }})
}

func TestT1_Scenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{tickets: map[string]Ticket[string]{}}
		s.start(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				if out := s.do(strings.Fields(line)); out != "" {
					fmt.Fprintln(&b, out)
				}
			}
			if err := s.f.check(); err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			fmt.Fprintln(&b, s.f)
			return b.String()
		})
	})
}

func (s *scenario) do(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var says []string
	each := func(op string, f func(Ticket[string]) bool) string {
		for _, name := range words[1:] {
			switch tk, ok := s.tickets[name]; {
			case !ok:
				says = append(says, op+" "+name+": no ticket")
			case !f(tk):
				says = append(says, op+" "+name+": stale")
			}
		}
		return strings.Join(says, "\n")
	}
	switch words[0] {
	case "new":
		limit := int64(0)
		if len(words) > 1 {
			if _, err := fmt.Sscanf(words[1], "limit=%d", &limit); err != nil {
				return "bad line: " + err.Error()
			}
		}
		s.start(limit)
	case "track":
		return s.track(words[1:])
	case "ack":
		return each("ack", Ticket[string].Ack)
	case "discard":
		return each("discard", Ticket[string].Discard)
	case "nack":
		return each("nack", func(tk Ticket[string]) bool { return tk.Nack(errors.New("refused")) })
	case "seal":
		return fmt.Sprintf("seal: %v", s.f.Seal())
	case "abandon":
		return fmt.Sprintf("abandon: %v", s.f.Abandon())
	case "durable":
		pos, ok := s.f.Position()
		if !ok {
			return "durable: none"
		}
		return "durable: " + pos
	case "advances":
		return fmt.Sprintf("advances: %d", s.hooks)
	case "stats":
		return fmt.Sprintf("%+v", s.f.Stats())
	default:
		return "unknown command " + words[0]
	}
	return ""
}

func (s *scenario) track(words []string) string {
	name, pos, weight, hold, cancelled := words[0], words[0], int64(1), false, false
	for _, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "at="):
			pos = w[3:]
		case w == "hold":
			hold = true
		case w == "cancelled":
			cancelled = true
		default:
			if _, err := fmt.Sscanf(w, "weight=%d", &weight); err != nil {
				return "bad word " + w
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if cancelled {
		cancel()
	}
	var tk Ticket[string]
	var err error
	if hold {
		tk, err = s.f.TrackHold(ctx, weight)
	} else if s.f.limit > 0 && !cancelled {
		tk, err = s.f.TryTrack(pos, weight)
	} else {
		tk, err = s.f.Track(ctx, pos, weight)
	}
	if err != nil {
		return fmt.Sprintf("track %s: %v", name, err)
	}
	s.tickets[name] = tk
	return ""
}
