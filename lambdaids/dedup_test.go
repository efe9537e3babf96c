package lambdaids_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/claimstest"
)

func TestMemoryClaims(t *testing.T) {
	claimstest.Run(t, func(now func() time.Time) lambdaids.Claims { return lambdaids.NewMemoryClaims(now) })
}

var errCrash = errors.New("the process is gone")

// mortal is the connection of one process to Claims: at its n-th step the process
// dies, before or after the step took effect, and none of its later calls arrives.
type mortal struct {
	lambdaids.Claims
	steps int // left to live; negative: immortal
	dead  bool
}

// step runs do unless the process is dead or dies before it.
func (m *mortal) step(do func() error) error {
	if m.dead {
		return errCrash
	}
	if m.steps == 0 {
		m.dead = true
		return errCrash
	}
	m.steps--
	err := do()
	if m.steps == 0 { // it took effect, and nobody hears of it
		m.dead = true
		return errCrash
	}
	m.steps--
	return err
}

func (m *mortal) Claim(ctx context.Context, key string, lease time.Duration) (c lambdaids.Claim, s lambdaids.ClaimState, err error) {
	err = m.step(func() error {
		var err error
		c, s, err = m.Claims.Claim(ctx, key, lease)
		return err
	})
	return c, s, err
}

func (m *mortal) Confirm(ctx context.Context, c lambdaids.Claim) error {
	return m.step(func() error { return m.Claims.Confirm(ctx, c) })
}

func (m *mortal) Release(ctx context.Context, c lambdaids.Claim) error {
	return m.step(func() error { return m.Claims.Release(ctx, c) })
}

// Deliveries until one succeeds, each by a process that may die at any step, fail,
// overrun its lease, or overlap with another delivery of the same record.
func TestL12_DedupAppliesAtLeastOnceAndAtomicallyOnce(t *testing.T) {
	const lease = time.Minute
	rapid.Check(t, func(t *rapid.T) {
		atomic := rapid.Bool().Draw(t, "atomic")
		now := time.Unix(1_700_000_000, 0)
		store := lambdaids.NewMemoryClaims(func() time.Time { return now })
		applied := 0
		crashed := false // a crash or an overrun lease may have fallen between apply and confirm
		var deliver func(depth int) error
		deliver = func(depth int) error {
			m := &mortal{Claims: store, steps: -1}
			if rapid.Bool().Draw(t, "mortal") {
				m.steps = rapid.IntRange(0, 8).Draw(t, "steps")
			}
			// What happens while the record is being applied.
			meanwhile := func() error {
				if rapid.IntRange(0, 4).Draw(t, "overrun") == 0 {
					now = now.Add(2 * lease)
					crashed = true
				}
				if depth < 2 && rapid.IntRange(0, 3).Draw(t, "overlap") == 0 {
					_ = deliver(depth + 1)
				}
				if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
					return errPlanned
				}
				return nil
			}
			key := func(r *rec) string { return r.id }
			var h lambdaids.Handler[rec]
			if atomic {
				h = lambdaids.DedupAtomic(m, key, lease, func(ctx context.Context, _ *rec, c lambdaids.Claim) error {
					if err := meanwhile(); err != nil {
						return err
					}
					return m.step(func() error { // one transaction
						if err := store.Confirm(ctx, c); err != nil {
							return err
						}
						applied++
						return nil
					})
				})
			} else {
				h = lambdaids.Dedup(m, key, lease, func(context.Context, *rec) error {
					if err := meanwhile(); err != nil {
						return err
					}
					return m.step(func() error { applied++; return nil })
				})
			}
			err := h(context.Background(), &rec{id: "k"})
			if m.dead {
				crashed = true
				return errCrash // whatever it would have answered, nobody hears it
			}
			if err == nil && applied == 0 {
				t.Fatal("a delivery succeeded and the record was never applied: lost")
			}
			return err
		}
		// Until a delivery succeeds, and as often again as Lambda likes.
		for again := rapid.IntRange(1, 3).Draw(t, "successes"); again > 0; {
			if deliver(0) == nil {
				again--
			}
			now = now.Add(rapid.SampledFrom([]time.Duration{0, lease / 2, 2 * lease}).Draw(t, "until the next"))
		}
		switch {
		case applied == 0:
			t.Fatal("never applied")
		case atomic && applied != 1:
			t.Fatalf("applied %d times although apply and confirm are one", applied)
		case !crashed && applied != 1:
			t.Fatalf("applied %d times without a crash", applied)
		}
	})
}

func TestDedupInAProcessor(t *testing.T) {
	applied := map[string]int{}
	fail := true
	claims := lambdaids.NewMemoryClaims(nil)
	p := lambdaids.New(lambdaids.Kinesis(recID), lambdaids.Dedup(claims, recID, time.Minute, func(_ context.Context, r *rec) error {
		if r.id == "2" && fail {
			return errPlanned
		}
		applied[r.id]++
		return nil
	}), lambdaids.Config[rec]{AfterFailure: lambdaids.Continue, Logger: discard})
	batch := recs("1", "2", "3")
	resp, err := p.Process(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, "2", answered(resp))
	fail = false
	resp, err = p.Process(t.Context(), batch[1:]) // 3 succeeded and comes again
	require.NoError(t, err)
	require.Zero(t, resp.Len())
	require.Equal(t, map[string]int{"1": 1, "2": 1, "3": 1}, applied)
}

func TestDedupHoldsBackWhatIsInFlight(t *testing.T) {
	claims := lambdaids.NewMemoryClaims(nil)
	_, _, err := claims.Claim(t.Context(), "k", time.Minute)
	require.NoError(t, err)
	h := lambdaids.Dedup(claims, recID, 0, func(context.Context, *rec) error { t.Error("applied"); return nil })
	require.ErrorIs(t, h(t.Context(), &rec{id: "k"}), lambdaids.ErrInFlight)
}

func TestDedupReleasesOnPanicAndAfterTheDeadline(t *testing.T) {
	claims := lambdaids.NewMemoryClaims(nil)
	boom := lambdaids.Dedup(claims, recID, time.Hour, func(context.Context, *rec) error { panic("boom") })
	require.Panics(t, func() { _ = boom(t.Context(), &rec{id: "k"}) })
	ctx, cancel := context.WithCancel(t.Context())
	late := lambdaids.Dedup(claims, recID, time.Hour, func(ctx context.Context, _ *rec) error { cancel(); return ctx.Err() })
	require.ErrorIs(t, late(ctx, &rec{id: "k"}), context.Canceled)
	_, state, err := claims.Claim(t.Context(), "k", time.Hour)
	require.NoError(t, err)
	require.Equal(t, lambdaids.Claimed, state)
}

// watched are Claims that write down what is asked of them.
type watched struct {
	lambdaids.Claims
	calls   []string
	release error
}

func (w *watched) Claim(ctx context.Context, key string, lease time.Duration) (lambdaids.Claim, lambdaids.ClaimState, error) {
	w.calls = append(w.calls, fmt.Sprint("claim ", lease))
	return w.Claims.Claim(ctx, key, lease)
}

func (w *watched) Confirm(ctx context.Context, c lambdaids.Claim) error {
	w.calls = append(w.calls, "confirm")
	return w.Claims.Confirm(ctx, c)
}

func (w *watched) Release(ctx context.Context, c lambdaids.Claim) error {
	w.calls = append(w.calls, "release")
	return errors.Join(w.Claims.Release(ctx, c), w.release)
}

// Confirmed claims are not released, others once; what the release says is told
// only if the record may be held back by it.
func TestDedupAsksForNoMoreThanItMust(t *testing.T) {
	errDown := errors.New("the table is down")
	for _, tc := range []struct {
		name    string
		lease   time.Duration
		apply   error
		release error
		err     string
		calls   []string
	}{
		{"applied, the default lease", 0, nil, errDown, "", []string{"claim 15m0s", "confirm"}},
		{"a negative lease is none", -time.Second, nil, nil, "", []string{"claim 15m0s", "confirm"}},
		{"failed, a lease of its own", time.Minute, errPlanned, nil, "planned failure", []string{"claim 1m0s", "release"}},
		{"the shortest lease", 1, errPlanned, nil, "planned failure", []string{"claim 1ns", "release"}},
		{"failed, and so did the release", time.Minute, errPlanned, errDown, "planned failure\nthe table is down", []string{"claim 1m0s", "release"}},
		{"the claim was lost", time.Minute, errPlanned, lambdaids.ErrClaimLost, "planned failure", []string{"claim 1m0s", "release"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &watched{Claims: lambdaids.NewMemoryClaims(nil), release: tc.release}
			h := lambdaids.Dedup(w, recID, tc.lease, func(context.Context, *rec) error { return tc.apply })
			err := h(t.Context(), &rec{id: "k"})
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.err)
			}
			require.Equal(t, tc.calls, w.calls)
		})
	}
}

func TestDedupWithoutKeyAlwaysApplies(t *testing.T) {
	n := 0
	h := lambdaids.Dedup(lambdaids.NewMemoryClaims(nil), recID, 0, func(context.Context, *rec) error { n++; return nil })
	require.NoError(t, h(t.Context(), &rec{}))
	require.NoError(t, h(t.Context(), &rec{}))
	require.Equal(t, 2, n)
	require.Panics(t, func() { lambdaids.Dedup[rec](nil, nil, 0, nil) })
}

func ExampleDedup() {
	claims := lambdaids.NewMemoryClaims(nil) // in earnest dynamoclaims.New
	apply := lambdaids.Dedup(claims, func(o *Order) string { return o.Number }, time.Minute,
		func(_ context.Context, o *Order) error {
			fmt.Println("applied", o.Item)
			return nil
		})
	p := lambdaids.New(lambdaids.Kinesis(func(o *Order) string { return o.Number }), apply, lambdaids.Config[Order]{})
	for range 2 { // the second time it is a duplicate
		answer, err := p.Process(context.Background(), []Order{{"1000", "rice"}})
		fmt.Println(answer.Len(), err)
	}
	// Output:
	// applied rice
	// 0 <nil>
	// 0 <nil>
}
