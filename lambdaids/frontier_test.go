package lambdaids_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/tracker"
)

// fate is what is planned for one record.
type fate struct {
	attempts int  // that fail
	letter   bool // then it goes to the dead letters, and arrives there
	panics   bool // its failures are panics
	takes    time.Duration
}

// The tracker that guards the durable positions elsewhere is the oracle: told of
// each record as it ends, in whatever order, it knows up to where all is settled.
// An answer is the record behind that one, or an empty list when there is none.
func TestL3_TheCheckpointIsTheTrackersFrontier(tt *testing.T) {
	const maxAttempts = 2
	rapid.Check(tt, func(t *rapid.T) {
		n := rapid.IntRange(1, 16).Draw(t, "records")
		cfg := lambdaids.Config[rec]{
			Concurrency: rapid.IntRange(2, 5).Draw(t, "concurrency"), MaxAttempts: maxAttempts, Margin: -1,
			AfterFailure: lambdaids.AfterFailure(rapid.IntRange(0, 2).Draw(t, "after")), Logger: discard,
		}
		if rapid.Bool().Draw(t, "keyed") {
			cfg.Key = recGroup
		}
		timeout := rapid.IntRange(-n, n).Draw(t, "timeout")
		var batch []rec
		plan := map[string]fate{}
		takes := rapid.Permutation(spans(n)).Draw(t, "takes")
		for i := range n {
			id := fmt.Sprint(998 + i)
			batch = append(batch, rec{id, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")})
			plan[id] = fate{
				attempts: rapid.SampledFrom([]int{0, 0, 0, 0, 1, maxAttempts}).Draw(t, "failures"),
				letter:   rapid.Bool().Draw(t, "letter"), panics: rapid.Bool().Draw(t, "panics"), takes: takes[i],
			}
		}

		frontier := tracker.New[int](tracker.Config{})
		tickets := map[string]tracker.Ticket[int]{}
		for i, r := range batch {
			ticket, err := frontier.TryTrack(i, 1)
			if err != nil {
				t.Fatal(err)
			}
			tickets[r.id] = ticket
		}
		tries := make([]int, n) // each by its own record only
		handler := func(_ context.Context, r *rec) error {
			f := plan[r.id]
			time.Sleep(f.takes)
			i := mustAtoi(r.id) - 998
			if tries[i]++; tries[i] > f.attempts {
				tickets[r.id].Ack()
				return nil
			}
			if f.panics {
				panic(errPlanned)
			}
			return errPlanned
		}
		cfg.DeadLetter = func(_ context.Context, r *rec, err error) error {
			if !plan[r.id].letter {
				return errPlanned
			}
			tickets[r.id].Discard()
			return nil
		}

		var got string
		var err error
		synctest.Test(tt, func(tt *testing.T) {
			ctx := tt.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, spans(timeout)[timeout-1]+time.Microsecond)
				defer cancel()
			}
			var resp lambdaids.Response[lambdaids.KinesisSequence]
			resp, err = lambdaids.New(lambdaids.Kinesis(recID), handler, cfg).Process(ctx, batch)
			got = answered(resp)
		})
		if err != nil {
			t.Fatal(err)
		}
		next := 0 // behind the frontier
		if last, ok := frontier.Position(); ok {
			next = last + 1
		}
		want := ""
		if next < n {
			want = batch[next].id
		}
		if got != want {
			t.Fatalf("answered %q, the first record behind the frontier is %q", got, want)
		}
	})
}

// spans are n durations of which no sums are the same, even if each is in them up
// to twice: so no two records end at once, and each run goes as the last one.
func spans(n int) []time.Duration {
	var all []time.Duration
	next := 2 * time.Microsecond
	for range n {
		all = append(all, next)
		next *= 3
	}
	return all
}
