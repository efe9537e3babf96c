package lambdaids_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
)

// rec is a record of any source: id is its sequence number or messageId.
type rec struct{ id, group string }

func recID(r *rec) string    { return r.id }
func recGroup(r *rec) string { return r.group }

func recs(ids ...string) []rec {
	var all []rec
	for _, id := range ids {
		all = append(all, rec{id: id})
	}
	return all
}

// failing is a handler that fails the records with these ids.
func failing(ids ...string) lambdaids.Handler[rec] {
	return func(_ context.Context, r *rec) error {
		if slices.Contains(ids, r.id) {
			return errPlanned
		}
		return nil
	}
}

func answered[ID lambdaids.Identifier](r lambdaids.Response[ID]) string {
	var ids []string
	for i := range r.Len() {
		ids = append(ids, r.At(i).String())
	}
	return strings.Join(ids, " ")
}

func TestL6_UnreportableRecords(t *testing.T) {
	for _, tc := range []struct {
		name   string
		recs   []rec
		fail   []string
		policy lambdaids.Policy
		queue  bool
		after  lambdaids.AfterFailure
		answer string
		err    bool
		bare   int // how many are counted
	}{
		{"widened to the nearest earlier", recs("1", "2", "", "4"), []string{""}, lambdaids.Widen, false, lambdaids.Stop, "2", false, 1},
		{"widening is the default of streams", recs("1", "2", "", "4"), []string{""}, lambdaids.DefaultPolicy, false, lambdaids.Stop, "2", false, 1},
		{"none earlier", recs("", "2"), []string{""}, lambdaids.Widen, false, lambdaids.Stop, "", true, 1},
		{"behind a reportable failure it needs nothing", recs("1", "2", ""), []string{"2"}, lambdaids.Widen, false, lambdaids.Stop, "2", false, 1},
		{"a whole run of them", recs("1", "", "", "", "5"), []string{""}, lambdaids.Widen, false, lambdaids.Continue, "1", false, 3},
		{"fail the batch", recs("1", "2", "", "4"), []string{""}, lambdaids.FailBatch, false, lambdaids.Stop, "", true, 1},
		{"drop loses it alone", recs("1", "", "3", "4"), []string{"", "4"}, lambdaids.Drop, false, lambdaids.Continue, "4", false, 1},
		{"drop and stop: what follows comes again", recs("1", "", "3"), []string{""}, lambdaids.Drop, false, lambdaids.Stop, "3", false, 1},
		{"drop of the only failure", recs("1", ""), []string{""}, lambdaids.Drop, false, lambdaids.Stop, "", false, 1},
		{"a queue fails the batch", recs("a", "", "c"), []string{"", "c"}, lambdaids.DefaultPolicy, true, lambdaids.Stop, "", true, 1},
		{"a queue does not widen", recs("a", "", "c"), []string{"", "c"}, lambdaids.Widen, true, lambdaids.Stop, "", true, 1},
		{"a queue drops", recs("a", "", "c"), []string{"", "c"}, lambdaids.Drop, true, lambdaids.Stop, "c", false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			hooked := 0
			cfg := lambdaids.Config[rec]{
				Unreportable: tc.policy, AfterFailure: tc.after,
				Logger:         slog.New(slog.NewTextHandler(&log, nil)),
				OnFailed:       func(context.Context, *rec, error) {},
				OnUnreportable: func(context.Context, *rec, error) { hooked++ },
			}
			var answer string
			var err error
			var stats lambdaids.Stats
			if tc.queue {
				p := lambdaids.New(lambdaids.SQS(recID), failing(tc.fail...), cfg)
				resp, e := p.Process(t.Context(), tc.recs)
				answer, err, stats = answered(resp), e, p.Stats()
			} else {
				p := lambdaids.New(lambdaids.DynamoDB(recID), failing(tc.fail...), cfg)
				resp, e := p.Process(t.Context(), tc.recs)
				answer, err, stats = answered(resp), e, p.Stats()
			}
			require.Equal(t, tc.answer, answer)
			require.Equal(t, tc.err, err != nil, "%v", err)
			if tc.err {
				require.ErrorIs(t, err, lambdaids.ErrUnreportable)
				require.ErrorIs(t, err, errPlanned, "the records' own errors are kept")
			}
			require.Equal(t, tc.bare, hooked)
			require.EqualValues(t, tc.bare, stats.Unreportable)
			require.Equal(t, tc.bare, strings.Count(log.String(), "cannot be reported"))
		})
	}
}

func TestL7_APanicFailsItsRecordAlone(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		var failed []error
		p := lambdaids.New(lambdaids.SQS(recID), func(_ context.Context, r *rec) error {
			if r.id == "b" {
				panic(errPlanned)
			}
			return nil
		}, lambdaids.Config[rec]{Concurrency: concurrency, OnFailed: func(_ context.Context, _ *rec, err error) { failed = append(failed, err) }})
		resp, err := p.Process(t.Context(), recs("a", "b", "c"))
		require.NoError(t, err)
		require.Equal(t, "b", answered(resp))
		require.EqualValues(t, 1, p.Stats().Panics)
		var panicked *lambdaids.PanicError
		require.Len(t, failed, 1)
		require.ErrorAs(t, failed[0], &panicked)
		require.ErrorIs(t, failed[0], errPlanned)
		require.Contains(t, string(panicked.Stack), "processor_test.go")
	}
}

// A worker whose handler ends its goroutine takes no other record along.
func TestL7_AHandlerThatEndsItsGoroutine(t *testing.T) {
	p := lambdaids.New(lambdaids.SQS(recID), func(_ context.Context, r *rec) error {
		if r.id == "b" {
			runtime.Goexit()
		}
		return nil
	}, lambdaids.Config[rec]{Concurrency: 3, Logger: discard})
	resp, err := p.Process(t.Context(), recs("a", "b", "c"))
	require.NoError(t, err)
	require.Contains(t, answered(resp), "b")
}

func TestL7_NearTheDeadlineTheRestIsUnprocessed(t *testing.T) {
	for name, tc := range map[string]struct {
		margin time.Duration
		done   uint64
	}{
		"default: a tenth":           {0, 5},
		"two seconds":                {2 * time.Second, 4},
		"none":                       {-1, 6},
		"more than the time allowed": {time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
				defer cancel()
				p := lambdaids.New(lambdaids.SQS(recID), func(ctx context.Context, _ *rec) error {
					time.Sleep(time.Second) // deaf to ctx
					return nil
				}, lambdaids.Config[rec]{Margin: tc.margin})
				resp, err := p.Process(ctx, recs("a", "b", "c", "d", "e", "f", "g", "h"))
				require.NoError(t, err)
				require.Equal(t, tc.done, p.Stats().Done)
				require.Equal(t, 8-tc.done, p.Stats().Unprocessed)
				require.EqualValues(t, 8-tc.done, resp.Len())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // the handler's context ends by the margin
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		p := lambdaids.New(lambdaids.Kinesis(recID), func(ctx context.Context, _ *rec) error {
			<-ctx.Done()
			return ctx.Err()
		}, lambdaids.Config[rec]{Logger: discard})
		resp, err := p.Process(ctx, recs("1", "2"))
		require.NoError(t, err)
		require.Equal(t, "1", answered(resp))
		require.Equal(t, 9*time.Second, time.Since(start))
	})
}

func TestL10_NothingOutlivesItsBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fail := map[string]bool{}
		p := lambdaids.New(lambdaids.SQS(recID), func(_ context.Context, r *rec) error {
			if fail[r.id] {
				return errPlanned
			}
			return nil
		}, lambdaids.Config[rec]{Concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"), Logger: discard})
		for range rapid.IntRange(2, 6).Draw(t, "batches") {
			ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-j]`), 0, 8, rapid.ID[string]).Draw(t, "ids")
			var want []string
			clear(fail)
			for _, id := range ids {
				if fail[id] = rapid.Bool().Draw(t, "fail"); fail[id] {
					want = append(want, id)
				}
			}
			resp, err := p.Process(context.Background(), recs(ids...))
			if got := answered(resp); err != nil || got != strings.Join(want, " ") {
				t.Fatalf("batch %v: answered %q (%v), want %v", ids, got, err, want)
			}
		}
	})
}

func TestL14_ASuccessfulRecordAllocatesNothing(t *testing.T) {
	perBatch := func(n, concurrency int, ctx context.Context) float64 {
		p := lambdaids.New(lambdaids.DynamoDB(recID), func(context.Context, *rec) error { return nil }, lambdaids.Config[rec]{Concurrency: concurrency})
		batch := make([]rec, n)
		return testing.AllocsPerRun(50, func() {
			if _, err := p.Process(ctx, batch); err != nil {
				t.Error(err)
			}
		})
	}
	require.Zero(t, perBatch(1000, 1, context.Background()), "not even a batch without deadline")
	require.Zero(t, perBatch(1, 4, context.Background()), "nor workers for a single record")
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.InDelta(t, perBatch(10, 1, ctx), perBatch(10_000, 1, ctx), 1, "the context is the batch's only cost")
	// The workers are started once a batch, and the lanes are kept for the next one,
	// but for what the race detector drops of a pool: ten allocations on average.
	require.Less(t, perBatch(10_000, 4, ctx)-perBatch(10, 4, ctx), 16.0)
}

func TestAllFailed(t *testing.T) {
	for _, all := range []lambdaids.AllFailed{lambdaids.Report, lambdaids.ReturnError} {
		p := lambdaids.New(lambdaids.SQS(recID), failing("a", "b"), lambdaids.Config[rec]{AllFailed: all, Logger: discard})
		resp, err := p.Process(t.Context(), recs("a", "b"))
		if all == lambdaids.Report {
			require.NoError(t, err)
			require.Equal(t, "a b", answered(resp))
			continue
		}
		require.ErrorIs(t, err, lambdaids.ErrAllFailed)
		var whole *lambdaids.BatchError
		require.ErrorAs(t, err, &whole)
		require.Len(t, whole.Failures, 2, "every record's error is kept")
		require.ErrorIs(t, whole.Failures[1].Err, errPlanned)
		resp, err = p.Process(t.Context(), recs("a", "c"))
		require.NoError(t, err)
		require.Equal(t, "a", answered(resp))
	}
}

func TestMisusePanics(t *testing.T) {
	ok := func(context.Context, *rec) error { return nil }
	for _, f := range []func(){
		func() { lambdaids.New(lambdaids.SQS(recID), nil, lambdaids.Config[rec]{}) },
		func() { lambdaids.New(lambdaids.Source[rec, lambdaids.MessageID]{}, ok, lambdaids.Config[rec]{}) },
		func() { lambdaids.New(lambdaids.SQS(recID), ok, lambdaids.Config[rec]{Concurrency: -1}) },
		func() { lambdaids.New(lambdaids.SQS(recID), ok, lambdaids.Config[rec]{Unreportable: 9}) },
	} {
		require.Panics(t, f)
	}
	require.NoError(t, lambdaids.Permanent(nil))
}
