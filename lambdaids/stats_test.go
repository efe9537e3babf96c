package lambdaids_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids"
)

// A BatchError may be made by hand, so it may be empty.
func TestABatchErrorTellsOfItsRecords(t *testing.T) {
	errOther := errors.New("another")
	e := &lambdaids.BatchError{Kind: lambdaids.SQSStandard, Reason: lambdaids.ErrAllFailed, Records: 3}
	require.EqualError(t, e, "lambdaids: every record of the batch failed (SQS, 0 of 3 records failed)")
	require.Equal(t, []error{lambdaids.ErrAllFailed}, e.Unwrap())
	e.Failures = []lambdaids.RecordError{{Index: 1, Err: errPlanned}, {Index: 2, Err: errOther}}
	require.EqualError(t, e, "lambdaids: every record of the batch failed (SQS, 2 of 3 records failed); record 1: planned failure")
	require.Equal(t, []error{lambdaids.ErrAllFailed, errPlanned, errOther}, e.Unwrap())
}

// What is counted of a batch is the same whether a hook looks at it or not.
func TestStatsCountEachRecordOnce(t *testing.T) {
	handler := func(_ context.Context, r *rec) error {
		switch r.group {
		case "fails":
			return errPlanned
		case "panics":
			panic(errPlanned)
		case "letter":
			return lambdaids.Permanent(errPlanned)
		case "stuck":
			return lambdaids.Permanent(errors.Join(errPlanned, errStuck))
		}
		return nil
	}
	base := lambdaids.Config[rec]{
		AfterFailure: lambdaids.Continue, Logger: discard,
		DeadLetter: func(_ context.Context, _ *rec, err error) error {
			if errors.Is(err, errStuck) {
				return errStuck
			}
			return nil
		},
	}
	for _, tc := range []struct {
		name   string
		batch  []rec
		change func(*lambdaids.Config[rec])
		want   lambdaids.Stats
	}{
		{"nothing", nil, nil, lambdaids.Stats{Batches: 1}},
		{"success", []rec{{"1", ""}, {"2", ""}}, nil, lambdaids.Stats{Batches: 1, Done: 2}},
		{"dead letters", []rec{{"1", ""}, {"2", "letter"}, {"3", ""}}, nil, lambdaids.Stats{Batches: 1, Done: 2, DeadLettered: 1}},
		{
			"all sorts",
			[]rec{{"1", ""}, {"2", "panics"}, {"3", ""}, {"4", "letter"}, {"5", "fails"}, {"6", "stuck"}},
			nil,
			lambdaids.Stats{Batches: 1, Done: 2, DeadLettered: 1, Failed: 3, Panics: 1, Redelivered: 2},
		},
		{
			"a stop",
			[]rec{{"1", ""}, {"2", "fails"}, {"3", ""}, {"4", ""}},
			func(c *lambdaids.Config[rec]) { c.AfterFailure = lambdaids.Stop },
			lambdaids.Stats{Batches: 1, Done: 1, Failed: 1, Unprocessed: 2},
		},
		{
			"the whole batch",
			[]rec{{"1", ""}, {"2", "letter"}, {"", "fails"}},
			func(c *lambdaids.Config[rec]) { c.Unreportable = lambdaids.FailBatch },
			lambdaids.Stats{Batches: 1, WholeBatch: 1, Done: 1, DeadLettered: 1, Failed: 1, Unreportable: 1, Redelivered: 2},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var sum lambdaids.Stats
			for _, hooked := range []bool{false, true} {
				cfg := base
				if tc.change != nil {
					tc.change(&cfg)
				}
				calls := 0
				if hooked {
					cfg.OnBatch = func(_ context.Context, r *lambdaids.BatchReport[rec]) {
						calls++
						require.Equal(t, tc.want.WholeBatch == 1, r.Err != nil)
						require.EqualValues(t, tc.want.Unreportable, r.Unreportable)
					}
				}
				p := lambdaids.New(lambdaids.Kinesis(recID), handler, cfg)
				for range 2 {
					_, err := p.Process(t.Context(), tc.batch)
					require.Equal(t, tc.want.WholeBatch == 1, err != nil)
				}
				require.Equal(t, tc.want.Add(tc.want), p.Stats())
				require.Equal(t, hooked, calls == 2)
				sum = sum.Add(p.Stats())
			}
			require.Equal(t, 4*tc.want.Done, sum.Done)
		})
	}
}

var errStuck = errors.New("not even as a dead letter")

func TestStatsAddUp(t *testing.T) {
	one := lambdaids.Stats{
		Batches: 1, WholeBatch: 2, Done: 3, Failed: 4, Unprocessed: 5, DeadLettered: 6, Unreportable: 7, Panics: 8, Redelivered: 9,
	}
	ten := lambdaids.Stats{
		Batches: 10, WholeBatch: 20, Done: 30, Failed: 40, Unprocessed: 50, DeadLettered: 60, Unreportable: 70, Panics: 80, Redelivered: 90,
	}
	require.Equal(t, lambdaids.Stats{
		Batches: 11, WholeBatch: 22, Done: 33, Failed: 44, Unprocessed: 55, DeadLettered: 66, Unreportable: 77, Panics: 88, Redelivered: 99,
	}, one.Add(ten))
}

// Without a hook for them, failures are logged, once a batch; without a logger of
// its own by the process's.
func TestFailuresAreLoggedWhenNobodyIsTold(t *testing.T) {
	var log bytes.Buffer
	mine := slog.New(slog.NewTextHandler(&log, nil))
	before := slog.Default()
	slog.SetDefault(mine)
	t.Cleanup(func() { slog.SetDefault(before) })
	const warning = "records failed and will be delivered again"
	hook := func(context.Context, *rec, error) {}
	for _, tc := range []struct {
		name string
		cfg  lambdaids.Config[rec]
		logs bool
	}{
		{"the process's logger", lambdaids.Config[rec]{}, true},
		{"a logger", lambdaids.Config[rec]{Logger: mine}, true},
		{"another logger", lambdaids.Config[rec]{Logger: discard}, false},
		{"a hook", lambdaids.Config[rec]{OnFailed: hook}, false},
		{"a hook and a logger", lambdaids.Config[rec]{OnFailed: hook, Logger: mine}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log.Reset()
			tc.cfg.AfterFailure = lambdaids.Continue
			p := lambdaids.New(lambdaids.Kinesis(recID), failing("2", "3"), tc.cfg)
			_, err := p.Process(t.Context(), recs("1", "4"))
			require.NoError(t, err)
			require.Empty(t, log.String())
			_, err = p.Process(t.Context(), recs("1", "2", "3"))
			require.NoError(t, err)
			if !tc.logs {
				require.Empty(t, log.String())
				return
			}
			require.Equal(t, 1, bytes.Count(log.Bytes(), []byte(warning)))
			require.Contains(t, log.String(), `source=Kinesis failed=2 unprocessed=0 record=1 err="planned failure"`)
		})
	}
}
