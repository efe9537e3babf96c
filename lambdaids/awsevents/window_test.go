package awsevents_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

var (
	discard    = slog.New(slog.NewTextHandler(io.Discard, nil))
	errPlanned = errors.New("planned failure")
)

// However records fail and come again, each is in the window's state once.
func TestL9_AWindowCountsEachRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "records")
		records := esmtest.DynamoDBRecords(n)
		bare := rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(t, "bare")
		for i, b := range bare {
			if b == 0 {
				records[i] = records[i].Without("dynamodb", "SequenceNumber")
			}
		}
		fails := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), n, n).Draw(t, "fails")
		failFinal := rapid.IntRange(0, 2).Draw(t, "failFinal")
		tried := map[string]int{}
		var final map[string]int
		h := awsevents.DynamoDBWindow(
			func(_ context.Context, state map[string]int, r *events.DynamoDBEventRecord) (map[string]int, error) {
				id := r.Change.Keys["id"].String()
				i, _ := strconv.Atoi(id)
				if tried[id]++; tried[id] <= fails[i] {
					return nil, errPlanned
				}
				if state == nil {
					state = map[string]int{}
				}
				state[id]++
				return state, nil
			},
			func(_ context.Context, state map[string]int, _ awsevents.WindowEvent[events.DynamoDBEventRecord, map[string]int]) error {
				if failFinal--; failFinal >= 0 {
					return errPlanned
				}
				final = state
				return nil
			},
			awsevents.DynamoDBConfig{
				Unreportable: lambdaids.Policy(rapid.IntRange(0, 2).Draw(t, "policy")),
				AfterFailure: lambdaids.Continue, Concurrency: 4, Logger: discard,
			})
		res, err := esmtest.Run(context.Background(), esmtest.Mapping{
			Window: true, BatchSize: rapid.IntRange(1, 8).Draw(t, "batchSize"), Bisect: rapid.Bool().Draw(t, "bisect"),
		}, records, esmtest.JSON(h.Handle))
		if err != nil {
			t.Fatal(err)
		}
		if problems := res.Problems(); len(problems) > 0 {
			t.Fatal(problems)
		}
		for i := range n {
			if got := final[strconv.Itoa(i)]; got != 1 {
				t.Fatalf("record %d is in the final state %d times: %v", i, got, final)
			}
		}
		if len(final) != n {
			t.Fatalf("%d records in the final state, want %d", len(final), n)
		}
	})
}

func TestL9_AWindowsAnswerAlwaysHasAState(t *testing.T) {
	fold := func(_ context.Context, s map[string]int, _ *events.KinesisEventRecord) (map[string]int, error) {
		return s, errPlanned
	}
	final := func(context.Context, map[string]int, awsevents.WindowEvent[events.KinesisEventRecord, map[string]int]) error {
		return nil
	}
	h := awsevents.KinesisWindow(fold, final, awsevents.KinesisConfig{Logger: discard})
	var e awsevents.WindowEvent[events.KinesisEventRecord, map[string]int]
	e.Records = []events.KinesisEventRecord{{Kinesis: events.KinesisRecord{SequenceNumber: "111"}}}
	resp, err := h.Handle(t.Context(), e)
	require.NoError(t, err)
	b, err := json.Marshal(resp)
	require.NoError(t, err)
	require.Equal(t, `{"state":{},"batchItemFailures":[{"itemIdentifier":"111"}]}`, string(b))

	// The documentation's own state.
	require.NoError(t, json.Unmarshal([]byte(`{"state":{"1":282,"2":715}}`), &e))
	resp, err = h.Handle(t.Context(), e)
	require.NoError(t, err)
	b, err = json.Marshal(resp)
	require.NoError(t, err)
	require.Equal(t, `{"state":{"1":282,"2":715},"batchItemFailures":[{"itemIdentifier":"111"}]}`, string(b))
}

func TestAWindowsFinalInvocationFailsWhole(t *testing.T) {
	finals := 0
	h := awsevents.DynamoDBWindow(
		func(_ context.Context, s []string, _ *events.DynamoDBEventRecord) ([]string, error) {
			return s, errPlanned
		},
		func(context.Context, []string, awsevents.WindowEvent[events.DynamoDBEventRecord, []string]) error {
			finals++
			return nil
		},
		awsevents.DynamoDBConfig{Logger: discard})
	var e awsevents.WindowEvent[events.DynamoDBEventRecord, []string]
	e.IsFinalInvokeForWindow = true
	e.Records = []events.DynamoDBEventRecord{{Change: events.DynamoDBStreamRecord{SequenceNumber: "111"}}}
	_, err := h.Handle(t.Context(), e)
	require.ErrorContains(t, err, "record 111")
	require.Zero(t, finals, "the final func must not see a state that lacks records")
	require.Panics(t, func() { awsevents.DynamoDBWindow[int](nil, nil, awsevents.DynamoDBConfig{}) })
}
