package shards

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every row of the table, by the name that the service gives the condition.
func TestS4_EveryConditionHasItsAction(t *testing.T) {
	all := []Op{DescribeStream, GetShardIterator, GetRecords}
	for _, row := range []struct {
		code string
		ops  []Op
		want Action
	}{
		{"LimitExceededException", all, BackOff},
		{"ProvisionedThroughputExceededException", all, BackOff},
		{"ThrottlingException", all, BackOff},
		{"Throttling", all, BackOff},
		{"ThrottledException", all, BackOff},
		{"RequestLimitExceeded", all, BackOff},
		{"RequestThrottled", all, BackOff},
		{"TooManyRequestsException", all, BackOff},

		{"ExpiredIteratorException", []Op{GetRecords}, Renew},
		{"ExpiredIteratorException", []Op{DescribeStream, GetShardIterator}, Retry},

		{"TrimmedDataAccessException", all, GapTrimmed},

		// An aged-out shard: asking for it again and again mends nothing.
		{"ResourceNotFoundException", []Op{GetShardIterator, GetRecords}, GapGone},
		{"ResourceNotFoundException", []Op{DescribeStream}, StreamGone},

		{"InternalServerError", all, Retry},
		{"ServiceUnavailable", all, Retry},
		{"ExpiredTokenException", all, Retry}, // the credentials are being refreshed
		{"SomethingNamedLater", all, Retry},
		{"", all, Retry}, // the network was cut, or a call ran into its deadline

		{"AccessDeniedException", all, Terminal},
		{"UnrecognizedClientException", all, Terminal},
		{"InvalidSignatureException", all, Terminal},
		{"MissingAuthenticationTokenException", all, Terminal},
		{"MissingAuthenticationToken", all, Terminal},
		{"IncompleteSignatureException", all, Terminal},
		{"IncompleteSignature", all, Terminal},
		{"InvalidClientTokenId", all, Terminal},
		{"NotAuthorized", all, Terminal},
		{"OptInRequired", all, Terminal},
		{"ValidationException", all, Terminal},
		{"ValidationError", all, Terminal},
		{"SerializationException", all, Terminal},
		{"UnknownOperationException", all, Terminal},
	} {
		for _, op := range row.ops {
			require.Equal(t, row.want.String(), Classify(op, row.code).String(), "%v: %q", op, row.code)
		}
	}
}

func TestS4_AGapNamesBothEnds(t *testing.T) {
	a, b := number(t, "100"), number(t, "200")
	for _, c := range []struct {
		gap  Gap
		want []string
	}{
		{Gap{Stream: "l", Shard: "s", After: a, Before: b}, []string{"shard s", "stream l", "from 100 to 200"}},
		{Gap{Stream: "l", Shard: "s", After: a, Gone: true}, []string{"from 100 to its end (gone)"}},
		{Gap{Stream: "l", Shard: "s", Before: b}, []string{"from its beginning to 200"}},
		{Gap{Stream: "l", Shard: "s", After: a}, []string{"from 100 to what is retained"}},
		{Gap{Stream: "l", Gone: true}, []string{"the whole stream"}},
	} {
		err := fmt.Errorf("wrapped: %w", c.gap)
		require.ErrorIs(t, err, ErrGap)
		var g Gap
		require.True(t, errors.As(err, &g))
		require.Equal(t, c.gap, g)
		for _, w := range c.want {
			require.Contains(t, err.Error(), w)
		}
	}
}

// At TRIM_HORIZON the service does not say what it no longer has.
func TestS4_AnUnreadShardOlderThanTheRetentionIsNoSilentLoss(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	require.True(t, Overdue(true, now.Add(-day-time.Second), now, day))
	require.False(t, Overdue(true, now.Add(-day), now, day), "all of it is retained")
	require.False(t, Overdue(false, now.Add(-3*day), now, day), "an open shard is young")
	require.False(t, Overdue(true, time.Time{}, now, day), "nothing says that anything was owed")
}

func TestNamesOfOpsActionsAndKinds(t *testing.T) {
	require.Equal(t, "DescribeStream GetShardIterator GetRecords Op(9)",
		fmt.Sprint(DescribeStream, " ", GetShardIterator, " ", GetRecords, " ", Op(9)))
	require.Equal(t, "retry back-off renew gap-trimmed gap-gone stream-gone terminal Action(9)",
		fmt.Sprint(Retry, " ", BackOff, " ", Renew, " ", GapTrimmed, " ", GapGone, " ", StreamGone, " ", Terminal, " ", Action(9)))
	require.Equal(t, "NONE AFTER_SEQUENCE_NUMBER TRIM_HORIZON LATEST Kind(9)",
		fmt.Sprint(None, " ", AfterSequenceNumber, " ", TrimHorizon, " ", Latest, " ", Kind(9)))
}
