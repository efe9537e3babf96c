package lambdaids_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestL1_OnlyIdentifiersOfTheEventAreAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		res, _ := s.run(t)
		for i, d := range res.Deliveries {
			if !d.Verdict.OK() {
				t.Fatalf("invocation %d answered %s: %v", i, d.Answer, d.Verdict)
			}
			for _, it := range d.Verdict.Items {
				if it.Record < 0 {
					t.Fatalf("invocation %d: %q is no record's", i, it.Identifier)
				}
			}
		}
	})
}

func TestL2_EveryRecordSucceedsOrComesAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		res, tr := s.run(t)
		for i := range s.recs {
			if !res.Consumed[i] {
				t.Fatalf("record %d was never consumed", i)
			}
			if tr.succeeded[i] == 0 {
				t.Fatalf("record %d was consumed without having succeeded: lost", i)
			}
		}
		// And in each invocation by itself: what did not succeed is not consumed.
		for k, d := range res.Deliveries {
			if d.Err != nil {
				continue
			}
			for _, i := range unsettled(d, tr.invocations[k]) {
				if !slices.Contains(comesAgain(d), i) {
					t.Fatalf("invocation %d consumed record %d, which had not succeeded in it: %s", k, i, d.Answer)
				}
			}
		}
	})
}

func comesAgain(d esmtest.Delivery) []int {
	var again []int
	for _, at := range d.Verdict.Retried {
		again = append(again, d.Records[at])
	}
	return again
}

func TestL3_NothingBeforeTheFirstFailureComesAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		s.bare = make([]bool, len(s.recs)) // with identifiers: widening takes more along
		groups := make([]int, len(s.recs))
		for i := range groups {
			groups[i] = rapid.IntRange(0, 2).Draw(t, "group")
		}
		s.build(groups)
		res, tr := s.run(t)
		for k, d := range res.Deliveries {
			if d.Err != nil {
				if s.all != lambdaids.ReturnError || len(unsettled(d, tr.invocations[k])) < len(d.Records) {
					t.Fatalf("invocation %d failed whole: %v", k, d.Err)
				}
				continue
			}
			failed := map[string]bool{} // by group: a record of it is unsettled
			open := unsettled(d, tr.invocations[k])
			fifoAll := false
			for _, i := range d.Records {
				again := slices.Contains(comesAgain(d), i)
				if slices.Contains(open, i) {
					failed[s.groups[i]] = true
					fifoAll = fifoAll || s.kind == lambdaids.SQSFIFOQueue && s.after == lambdaids.StopAll
				} else if again && !failed[s.groups[i]] && !fifoAll {
					t.Fatalf("invocation %d: record %d succeeded before any failure of its group and comes again: %s", k, i, d.Answer)
				}
			}
		}
	})
}

func TestL4_NothingOrderedBehindAFailureIsStarted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		s.after = lambdaids.AfterFailure(rapid.IntRange(0, 1).Draw(t, "stop"))
		_, tr := s.run(t)
		for k, steps := range tr.invocations {
			for at, st := range steps {
				if !st.end || st.ok {
					continue
				}
				if s.kind.Rewinds() && s.concurrency > 1 {
					continue // the others learn of it a moment later: see the next test
				}
				for _, later := range steps[at+1:] {
					if !later.end && later.rec > st.rec && s.groups[later.rec] == s.groups[st.rec] {
						t.Fatalf("invocation %d: record %d was started behind the failed %d of its group", k, later.rec, st.rec)
					}
				}
			}
		}
	})
}

// In a shard processed concurrently what runs may end, but nothing behind the
// failure is begun, and what lies before it is.
func TestL4_AConcurrentShardStopsStartingBehindAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type rec struct{ seq, secs string }
		recs := []rec{{"10", "3s"}, {"11", "1s"}, {"12", "3s"}, {"13", "1s"}, {"14", "1s"}, {"15", "1s"}}
		var mu sync.Mutex
		var started []string
		p := lambdaids.New(lambdaids.Kinesis(func(r *rec) string { return r.seq }), func(_ context.Context, r *rec) error {
			mu.Lock()
			started = append(started, r.seq)
			mu.Unlock()
			d, _ := time.ParseDuration(r.secs)
			time.Sleep(d)
			if r.seq == "11" {
				time.Sleep(time.Second / 2)
				return errPlanned
			}
			return nil
		}, lambdaids.Config[rec]{Concurrency: 3, Logger: discard})
		resp, err := p.Process(t.Context(), recs)
		require.NoError(t, err)
		// At 1.5s record 11 fails; 10 and 12 run until 3s; 13 and the rest never start.
		slices.Sort(started)
		require.Equal(t, []string{"10", "11", "12"}, started)
		require.Equal(t, 1, resp.Len())
		require.Equal(t, "11", resp.At(0).String())
		require.Equal(t, lambdaids.Stats{Batches: 1, Done: 2, Failed: 1, Unprocessed: 3, Redelivered: 1}, p.Stats())
	})
}

// Groups of a queue, partitions, and keys of a shard: side by side, each in order.
func TestL15_LanesRunSideBySideAndEachInOrder(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(lambdaids.Handler[rec], lambdaids.Config[rec], []rec) error
	}{
		{"keys of a shard", func(h lambdaids.Handler[rec], cfg lambdaids.Config[rec], b []rec) error {
			cfg.Key = recGroup
			_, err := lambdaids.New(lambdaids.DynamoDB(recID), h, cfg).Process(context.Background(), b)
			return err
		}},
		{"FIFO groups", func(h lambdaids.Handler[rec], cfg lambdaids.Config[rec], b []rec) error {
			_, err := lambdaids.New(lambdaids.SQSFIFO(recID, recGroup), h, cfg).Process(context.Background(), b)
			return err
		}},
		{"partitions", func(h lambdaids.Handler[rec], cfg lambdaids.Config[rec], b []rec) error {
			src := lambdaids.Kafka(recGroup, func(r *rec) int64 { return int64(mustAtoi(r.id)) })
			_, err := lambdaids.New(src, h, cfg).Process(context.Background(), b)
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				batch := []rec{{"1", "a"}, {"2", "a"}, {"3", "b"}, {"4", "a"}, {"5", "b"}, {"6", "c"}}
				begin := time.Now()
				var mu sync.Mutex
				started := map[string]time.Duration{}
				require.NoError(t, tc.run(func(_ context.Context, r *rec) error {
					mu.Lock()
					started[r.id] = time.Since(begin)
					mu.Unlock()
					time.Sleep(time.Second)
					return nil
				}, lambdaids.Config[rec]{Concurrency: 3}, batch))
				require.Equal(t, map[string]time.Duration{
					"1": 0, "2": time.Second, "4": 2 * time.Second,
					"3": 0, "5": time.Second,
					"6": 0,
				}, started)
			})
		})
	}
}

func TestL5_AnswersAreListsWithoutDuplicates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		res, tr := s.run(t)
		for k, d := range res.Deliveries {
			if d.Err != nil {
				continue
			}
			if len(unsettled(d, tr.invocations[k])) == 0 && string(d.Answer) != `{"batchItemFailures":[]}` {
				t.Fatalf("complete success was answered %s", d.Answer)
			}
			if s.kind.Rewinds() && len(d.Verdict.Items) > 1 {
				t.Fatalf("a stream was answered with several identifiers: %s", d.Answer)
			}
			seen := map[string]bool{}
			for _, it := range d.Verdict.Items {
				if seen[it.Identifier] {
					t.Fatalf("%s is answered twice: %s", it.Identifier, d.Answer)
				}
				seen[it.Identifier] = true
			}
		}
	})
}

func TestL5_TheReportNamesWhatComesAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		res, tr := s.run(t)
		for k, d := range res.Deliveries {
			again := comesAgain(d)
			if d.Err != nil {
				again = d.Records
			}
			for _, at := range d.Verdict.Maybe {
				again = append(again, d.Records[at])
			}
			var want []int
			open := unsettled(d, tr.invocations[k])
			for _, i := range again {
				if !slices.Contains(open, i) {
					want = append(want, i)
				}
			}
			got := slices.Clone(tr.reports[k].redelivered)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Fatalf("invocation %d: %v succeeded and come again, the report says %v: %s", k, want, got, d.Answer)
			}
		}
	})
}

func TestL8_AFIFOGroupKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScenario(t)
		s.kind = lambdaids.SQSFIFOQueue
		s.after = lambdaids.AfterFailure(rapid.IntRange(0, 1).Draw(t, "stop"))
		groups := make([]int, len(s.recs))
		for i := range groups {
			groups[i] = rapid.IntRange(0, 2).Draw(t, "group")
		}
		s.build(groups)
		_, tr := s.run(t)
		first := map[string]int{} // by group: the lowest message that may succeed next
		for _, steps := range tr.invocations {
			for _, st := range steps {
				if !st.end || !st.ok {
					continue
				}
				g := s.groups[st.rec]
				for i := first[g]; i < st.rec; i++ {
					if s.groups[i] == g && tr.succeeded[i] > 0 && !succeededBefore(tr, i, st.rec) {
						t.Fatalf("message %d was done before %d of the same group", st.rec, i)
					}
				}
			}
		}
	})
}

// succeededBefore reports whether a's first success precedes b's.
func succeededBefore(tr *trace, a, b int) bool {
	for _, steps := range tr.invocations {
		for _, st := range steps {
			if st.end && st.ok && st.rec == a {
				return true
			}
			if st.end && st.ok && st.rec == b {
				return false
			}
		}
	}
	return false
}
