// Package claimstest holds any lambdaids.Claims to its contract.
//
// # Guarantees
//
// Run drives random sequences of claims, confirmations, releases and passing
// time, and compares every answer with a model that replays the history. What it
// accepts, Dedup can rely on.
//
// # Non-guarantees
//
// It does not reach an implementation's time to live, nor its faults.
//
// # Concurrency
//
// Run calls the Claims from one goroutine.
package claimstest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
)

// event is one thing that happened to a key and took effect.
type event struct {
	at    time.Time
	token string
	what  string // claim, confirm, release
	until time.Time
}

// model answers from the history alone.
type model struct{ history map[string][]event }

// holder is who claimed the key last and did not release it, and its state.
func (m *model) holder(key string) (e event, applied bool) {
	for _, h := range m.history[key] {
		switch h.what {
		case "claim":
			e, applied = h, false
		case "confirm":
			applied = true
		case "release":
			e, applied = event{}, false
		}
	}
	return e, applied
}

func (m *model) add(key string, e event) { m.history[key] = append(m.history[key], e) }

// Run tests the Claims that open makes with the clock it is given. It calls open
// once; keys are never used twice, so that one table may serve many runs.
func Run(t *testing.T, open func(now func() time.Time) lambdaids.Claims) {
	t.Helper()
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	now := func() time.Time { return time.UnixMilli(clock.Load()) }
	claims := open(now)
	run := 0
	stamp := time.Now().UnixNano()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		run++
		m := &model{history: map[string][]event{}}
		var held []lambdaids.Claim
		keyOf := func(t *rapid.T) string {
			return fmt.Sprintf("run-%d-%d-%s", stamp, run, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				key := keyOf(t)
				lease := time.Duration(rapid.IntRange(1, 5).Draw(t, "lease")) * time.Second
				last, applied := m.holder(key)
				want := lambdaids.Claimed
				switch {
				case applied:
					want = lambdaids.Applied
				case last.token != "" && now().Before(last.until):
					want = lambdaids.InFlight
				}
				c, got, err := claims.Claim(ctx, key, lease)
				if err != nil || got != want {
					t.Fatalf("Claim(%s): %v, %v; want %v", key, got, err, want)
				}
				if got != lambdaids.Claimed {
					return
				}
				if c.Key != key || c.Token == "" {
					t.Fatalf("Claim(%s) gave %+v", key, c)
				}
				for _, h := range held {
					if h.Key == key && h.Token == c.Token {
						t.Fatalf("Claim(%s) gave the token of an earlier claim", key)
					}
				}
				m.add(key, event{now(), c.Token, "claim", now().Add(lease)})
				held = append(held, c)
			},
			"confirm": func(t *rapid.T) {
				c := draw(t, held)
				last, _ := m.holder(c.Key)
				err := claims.Confirm(ctx, c)
				if last.token == c.Token {
					if err != nil {
						t.Fatalf("Confirm of the standing claim: %v", err)
					}
					m.add(c.Key, event{at: now(), token: c.Token, what: "confirm"})
				} else if !errors.Is(err, lambdaids.ErrClaimLost) {
					t.Fatalf("Confirm of a lost claim: %v", err)
				}
			},
			"release": func(t *rapid.T) {
				c := draw(t, held)
				last, applied := m.holder(c.Key)
				err := claims.Release(ctx, c)
				switch {
				case last.token == "":
					if err != nil {
						t.Fatalf("Release of a free key: %v", err)
					}
				case last.token == c.Token && !applied:
					if err != nil {
						t.Fatalf("Release of the standing claim: %v", err)
					}
					m.add(c.Key, event{at: now(), token: c.Token, what: "release"})
				default:
					if !errors.Is(err, lambdaids.ErrClaimLost) {
						t.Fatalf("Release of a lost or confirmed claim: %v", err)
					}
				}
			},
			"time passes": func(t *rapid.T) {
				clock.Add(int64(rapid.IntRange(1, 3000).Draw(t, "ms")))
			},
		})
	})
}

func draw(t *rapid.T, held []lambdaids.Claim) lambdaids.Claim {
	if len(held) == 0 {
		t.Skip("nothing claimed yet")
	}
	return rapid.SampledFrom(held).Draw(t, "claim")
}
