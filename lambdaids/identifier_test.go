package lambdaids_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/lambdaids"
	"github.com/ackgate/ackgate/lambdaids/awsevents"
)

func TestSequenceNumbersCompareByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`[0-9]{1,56}`)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		da, _ := lambdaids.ParseDynamoDB(a)
		db, _ := lambdaids.ParseDynamoDB(b)
		ka, _ := lambdaids.ParseKinesis(a)
		kb, _ := lambdaids.ParseKinesis(b)
		if da.Compare(db) != x.Cmp(y) || ka.Compare(kb) != x.Cmp(y) {
			t.Fatalf("%s and %s: %d and %d, want %d", a, b, da.Compare(db), ka.Compare(kb), x.Cmp(y))
		}
	})
}

func TestIdentifiersThatAreNone(t *testing.T) {
	_, err := lambdaids.ParseDynamoDB("")
	require.ErrorIs(t, err, lambdaids.ErrNoIdentifier)
	_, err = lambdaids.ParseKinesis("-1")
	require.ErrorIs(t, err, lambdaids.ErrNotSequence)
	_, err = lambdaids.ParseKinesis(strings.Repeat("1", 1000))
	require.ErrorIs(t, err, lambdaids.ErrNotSequence)
	_, err = lambdaids.ParseMessageID("")
	require.ErrorIs(t, err, lambdaids.ErrNoIdentifier)
	_, err = lambdaids.ParseKafka("", 1)
	require.ErrorIs(t, err, lambdaids.ErrNoIdentifier)
	_, err = lambdaids.ParseKafka("t-0", -1)
	require.ErrorIs(t, err, lambdaids.ErrNoIdentifier)
	var resp lambdaids.Response[lambdaids.MessageID]
	require.False(t, resp.Fail(lambdaids.MessageID{}), "the zero identifier is never sent")
	b, err := json.Marshal(resp)
	require.NoError(t, err)
	require.Equal(t, `{"batchItemFailures":[]}`, string(b))
}

func TestAResponseIsSmallAndUnique(t *testing.T) {
	var sqs lambdaids.Response[lambdaids.MessageID]
	for i := range 200 {
		id, _ := lambdaids.ParseMessageID(fmt.Sprint("m", i%100, `"<`))
		require.Equal(t, i < 100, sqs.Fail(id))
	}
	require.Equal(t, 100, sqs.Len())
	b, err := json.Marshal(sqs)
	require.NoError(t, err)
	var back events.SQSEventResponse
	require.NoError(t, json.Unmarshal(b, &back))
	require.Len(t, back.BatchItemFailures, 100)
	require.Equal(t, `m7"<`, back.BatchItemFailures[7].ItemIdentifier)

	var kinesis lambdaids.Response[lambdaids.KinesisSequence]
	for _, s := range []string{"1000", "999", "01000"} {
		id, _ := lambdaids.ParseKinesis(s)
		kinesis.Fail(id)
	}
	b, err = json.Marshal(kinesis)
	require.NoError(t, err)
	require.Equal(t, `{"batchItemFailures":[{"itemIdentifier":"999"}]}`, string(b))

	var kafka awsevents.KafkaResponse
	id, _ := lambdaids.ParseKafka("orders-0", 98)
	kafka.Fail(id)
	b, err = json.Marshal(kafka)
	require.NoError(t, err)
	require.Equal(t, `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":98}}]}`, string(b))
}

// What is answered goes back as it came, but leading zeros count for nothing.
func TestSequenceNumbersAtTheirBounds(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"999", "1000", -1},
		{"1000", "999", 1},
		{"0999", "1000", -1},
		{"1000", "0999", 1},
		{"0001", "1", 0},
		{"000", "0", 0},
		{"0", "1", -1},
	} {
		a, err := lambdaids.ParseDynamoDB(tc.a)
		require.NoError(t, err)
		b, err := lambdaids.ParseDynamoDB(tc.b)
		require.NoError(t, err)
		require.Equal(t, tc.want, a.Compare(b), "%s and %s", a, b)
		require.Equal(t, tc.a, a.String())
	}
	longest := strings.Repeat("9", 128)
	_, err := lambdaids.ParseKinesis(longest)
	require.NoError(t, err)
	_, err = lambdaids.ParseKinesis(longest + "9")
	require.ErrorIs(t, err, lambdaids.ErrNotSequence)
	require.ErrorContains(t, err, "129 characters")
}

// Fail says whether the answer changed.
func TestFailKeepsTheLowestNumber(t *testing.T) {
	var resp lambdaids.Response[lambdaids.DynamoDBSequence]
	for _, step := range []struct {
		number  string
		changed bool
		lowest  string
	}{
		{"1000", true, "1000"},
		{"1001", false, "1000"},
		{"1000", false, "1000"},
		{"999", true, "999"},
	} {
		id, err := lambdaids.ParseDynamoDB(step.number)
		require.NoError(t, err)
		require.Equal(t, step.changed, resp.Fail(id), step.number)
		require.Equal(t, step.lowest, answered(resp))
	}
}

// What is added to a copy of an answer is in that copy only: nothing that one of
// them names is taken for named in the other, or written over.
func TestL2_ACopyOfAnAnswerIsAnAnswerOfItsOwn(t *testing.T) {
	message := func(s string) lambdaids.MessageID {
		id, err := lambdaids.ParseMessageID(s)
		require.NoError(t, err)
		return id
	}
	for n := range 70 {
		var one lambdaids.Response[lambdaids.MessageID]
		for i := range n {
			require.True(t, one.Fail(message(fmt.Sprint(i))))
		}
		before := answered(one)
		two, three := one, one
		require.True(t, two.Fail(message("x")))
		require.True(t, three.Fail(message("y")))
		require.True(t, three.Fail(message("x")))
		require.True(t, one.Fail(message("z")))
		require.False(t, two.Fail(message("x")))
		require.Equal(t, strings.TrimSpace(before+" z"), answered(one))
		require.Equal(t, strings.TrimSpace(before+" x"), answered(two))
		require.Equal(t, strings.TrimSpace(before+" y x"), answered(three))
		before, saved := answered(three), three
		require.True(t, three.Fail(message("v")))
		three = saved // and back again
		require.True(t, three.Fail(message("w")))
		require.True(t, three.Fail(message("v")))
		require.Equal(t, before+" w v", answered(three))
	}

	number := func(s string) lambdaids.KinesisSequence {
		id, err := lambdaids.ParseKinesis(s)
		require.NoError(t, err)
		return id
	}
	var one lambdaids.Response[lambdaids.KinesisSequence]
	require.True(t, one.Fail(number("1000")))
	two := one
	require.True(t, one.Fail(number("999")))
	require.True(t, two.Fail(number("998")))
	require.Equal(t, "999 998", answered(one)+" "+answered(two))
}
