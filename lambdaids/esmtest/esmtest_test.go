package esmtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

var errPlanned = errors.New("planned failure")

func always(answer string) esmtest.Invoke {
	return func(context.Context, []byte) ([]byte, error) { return []byte(answer), nil }
}

func deliveries(r esmtest.Result) [][]int {
	var all [][]int
	for _, d := range r.Deliveries {
		all = append(all, d.Records)
	}
	return all
}

// once answers the first invocation with answer, all later ones with success.
func once(answer string, err error) esmtest.Invoke {
	n := 0
	return func(context.Context, []byte) ([]byte, error) {
		if n++; n == 1 {
			return []byte(answer), err
		}
		return nil, nil
	}
}

func failures(ids ...string) string {
	items := []map[string]json.RawMessage{}
	for _, id := range ids {
		items = append(items, map[string]json.RawMessage{"itemIdentifier": json.RawMessage(id)})
	}
	b, _ := json.Marshal(map[string]any{"batchItemFailures": items})
	return string(b)
}

func seq(i int) string { return `"` + esmtest.Sequence(i) + `"` }

func TestRedelivery(t *testing.T) {
	fifo := esmtest.FIFOMessages(4, func(int) string { return "g" })
	kafka := esmtest.KafkaRecords(4, func(i int) int { return i % 2 }) // orders-0 holds 0 and 2
	for _, tc := range []struct {
		name   string
		m      esmtest.Mapping
		recs   []esmtest.Record
		invoke esmtest.Invoke
		want   [][]int
	}{
		{"a success moves on", esmtest.Mapping{BatchSize: 2}, esmtest.DynamoDBRecords(4), always(""), [][]int{{0, 1}, {2, 3}}},
		{"a checkpoint", esmtest.Mapping{}, esmtest.KinesisRecords(4), once(failures(seq(2)), nil), [][]int{{0, 1, 2, 3}, {2, 3}}},
		{"the lowest checkpoint", esmtest.Mapping{}, esmtest.DynamoDBRecords(4), once(failures(seq(3), seq(1)), nil), [][]int{{0, 1, 2, 3}, {1, 2, 3}}},
		{"a function error", esmtest.Mapping{}, esmtest.DynamoDBRecords(2), once("", errPlanned), [][]int{{0, 1}, {0, 1}}},
		{"bisect", esmtest.Mapping{Bisect: true}, esmtest.DynamoDBRecords(4), once("", errPlanned), [][]int{{0, 1, 2, 3}, {0, 1}, {2, 3}}},
		{"bisect leaves a partial answer alone", esmtest.Mapping{Bisect: true}, esmtest.DynamoDBRecords(4), once(failures(seq(1)), nil), [][]int{{0, 1, 2, 3}, {1, 2, 3}}},
		{"answers ignored", esmtest.Mapping{IgnoreAnswers: true}, esmtest.DynamoDBRecords(2), once(failures(seq(0)), nil), [][]int{{0, 1}}},
		{"an unknown number, carefully", esmtest.Mapping{}, esmtest.DynamoDBRecords(2), once(failures(`"5"`), nil), [][]int{{0, 1}, {0, 1}}},
		{"an unknown number, carelessly", esmtest.Mapping{LoseUndocumented: true}, esmtest.DynamoDBRecords(2), once(failures(`"5"`), nil), [][]int{{0, 1}}},
		{"messages", esmtest.Mapping{BatchSize: 2}, esmtest.SQSMessages(3), once(failures(`"m-aaaaaaaa"`), nil), [][]int{{0, 1}, {2, 0}}},
		{"FIFO keeps its place", esmtest.Mapping{BatchSize: 2}, fifo, once(failures(`"m-aaaaaaab"`), nil), [][]int{{0, 1}, {1, 2}, {3}}},
		{"Kafka as a set", esmtest.Mapping{}, kafka, once(failures(`{"partition":"orders-0","offset":98}`), nil), [][]int{{0, 2, 1, 3}, {0}}},
		{"Kafka as a rewind", esmtest.Mapping{KafkaRewinds: true}, kafka, once(failures(`{"partition":"orders-0","offset":98}`), nil), [][]int{{0, 2, 1, 3}, {0, 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := esmtest.Run(t.Context(), tc.m, tc.recs, tc.invoke)
			require.NoError(t, err)
			require.Equal(t, tc.want, deliveries(res))
			for i := range tc.recs {
				require.True(t, res.Consumed[i])
			}
		})
	}
}

func TestDeadLetters(t *testing.T) {
	poison := func(_ context.Context, event []byte) ([]byte, error) {
		var e struct {
			Records []struct {
				DynamoDB struct{ SequenceNumber string }
			}
		}
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		for _, r := range e.Records {
			if r.DynamoDB.SequenceNumber == esmtest.Sequence(1) {
				return []byte(failures(seq(1))), nil
			}
		}
		return nil, nil
	}
	res, err := esmtest.Run(t.Context(), esmtest.Mapping{MaxAttempts: 3}, esmtest.DynamoDBRecords(3), poison)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2}, {1, 2}, {1, 2}, {1, 2}}, deliveries(res), "retry limits hold for partial answers too")
	require.Equal(t, []int{1, 2}, res.DeadLetters)
	require.Equal(t, []bool{true, false, false}, res.Consumed)
	require.Equal(t, 4, res.Attempts(1))

	res, err = esmtest.Run(t.Context(), esmtest.Mapping{MaxAttempts: 2}, esmtest.SQSMessages(2), always(failures(`"m-aaaaaaaa"`)))
	require.NoError(t, err, "the answer for the second delivery names a message that is in it")
	require.Equal(t, []int{0}, res.DeadLetters)
}

func TestStuckAndMalformed(t *testing.T) {
	res, err := esmtest.Run(t.Context(), esmtest.Mapping{MaxInvocations: 5}, esmtest.DynamoDBRecords(1), always(failures(`""`)))
	require.ErrorIs(t, err, esmtest.ErrStuck)
	require.Len(t, res.Problems(), 5)

	_, err = esmtest.Run(t.Context(), esmtest.Mapping{}, []esmtest.Record{{JSON: json.RawMessage(`{}`)}}, always(""))
	require.ErrorContains(t, err, "no known source")
	_, err = esmtest.Run(t.Context(), esmtest.Mapping{}, append(esmtest.SQSMessages(1), esmtest.KinesisRecords(1)...), always(""))
	require.ErrorContains(t, err, "another one")
	res, err = esmtest.Run(t.Context(), esmtest.Mapping{}, nil, nil)
	require.NoError(t, err)
	require.Empty(t, res.Deliveries)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = esmtest.Run(ctx, esmtest.Mapping{}, esmtest.SQSMessages(1), always(""))
	require.Equal(t, context.Canceled, err)

	panics := 0
	res, err = esmtest.Run(t.Context(), esmtest.Mapping{}, esmtest.SQSMessages(1), func(context.Context, []byte) ([]byte, error) {
		if panics++; panics == 1 {
			panic("boom")
		}
		return nil, nil
	})
	require.NoError(t, err)
	require.ErrorContains(t, res.Deliveries[0].Err, "boom")
	require.Equal(t, 2, res.Attempts(0))
}

func TestAWindowCarriesItsState(t *testing.T) {
	count := func(_ context.Context, event []byte) ([]byte, error) {
		var e struct {
			Records []json.RawMessage
			State   map[string]int `json:"state"`
			Final   bool           `json:"isFinalInvokeForWindow"`
		}
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"state":{"n":%d},"batchItemFailures":[]}`, e.State["n"]+len(e.Records)), nil
	}
	res, err := esmtest.Run(t.Context(), esmtest.Mapping{Window: true, BatchSize: 2}, esmtest.KinesisRecords(5), count)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":5}`, string(res.State))
	require.Len(t, res.Deliveries, 4, "three batches and the final invocation")
}
