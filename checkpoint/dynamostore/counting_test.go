package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

var quiet = checkpoint.Logger(slog.New(slog.DiscardHandler))

// The cost that the documentation states: N busy partitions at interval T make
// N·3600/T write requests an hour, one a commit, and an idle hour makes none.
func TestOneWriteACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions, interval, busy = 20, 5 * time.Second, 5 * time.Minute
		s := streamtest.New(streamtest.Config{})
		require.NoError(t, dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints"))
		var commits atomic.Int64
		c := checkpoint.NewCommitter(dynamostore.New(dynamodb.NewFromConfig(s.AWSConfig()), "checkpoints"), "orders", quiet,
			checkpoint.Interval(interval), checkpoint.Parallel(partitions),
			checkpoint.WithHooks(checkpoint.Hooks{Committed: func(checkpoint.Checkpoint) { commits.Add(1) }}))
		var open []*checkpoint.Partition[int]
		for i := range partitions {
			p, _, err := checkpoint.Open(t.Context(), c, fmt.Sprintf("stream/s/%03d", i), checkpoint.Integer[int]{})
			require.NoError(t, err)
			open = append(open, p)
		}
		claims := s.Calls()["UpdateItem"].Calls
		require.Equal(t, partitions, claims)

		begin := time.Now()
		for n := 1; time.Since(begin) < busy; n++ { // acks come several times an interval
			for _, p := range open {
				ticket, err := p.Track(t.Context(), n, 1)
				require.NoError(t, err)
				ticket.Ack()
			}
			time.Sleep(1500 * time.Millisecond)
		}
		require.NoError(t, c.Flush(t.Context()))
		writes := s.Calls()["UpdateItem"].Calls - claims
		require.EqualValues(t, commits.Load(), writes, "one request a commit")
		// An interval begins with the first ack after a commit, so it lasts a
		// little longer than it is set to.
		most := partitions * int(busy/interval)
		require.LessOrEqual(t, writes, most+partitions)
		require.GreaterOrEqual(t, writes, most*3/4)

		time.Sleep(time.Hour)
		require.NoError(t, c.Close(t.Context()))
		require.Equal(t, writes, s.Calls()["UpdateItem"].Calls-claims, "nothing moved, nothing is written")
		require.Zero(t, s.Calls()["GetItem"].Calls+s.Calls()["Query"].Calls)
	})
}

// The real SDK under the Committer, and a table that throttles, fails, hangs and
// loses answers: each try is one request, and what is durable in the end is what
// was settled.
func TestRetriesDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{Seed: 7})
		require.NoError(t, dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints"))
		store := dynamostore.New(dynamodb.NewFromConfig(s.AWSConfig()), "checkpoints")
		var commits, failures atomic.Int64
		c := checkpoint.NewCommitter(store, "orders", quiet, checkpoint.Interval(time.Second),
			checkpoint.WithHooks(checkpoint.Hooks{
				Committed:    func(checkpoint.Checkpoint) { commits.Add(1) },
				CommitFailed: func(checkpoint.Key, error, int) { failures.Add(1) },
			}))
		p, _, err := checkpoint.Open(t.Context(), c, "a", checkpoint.Integer[int]{})
		require.NoError(t, err)
		claims := s.Calls()["UpdateItem"].Calls
		s.SetFaults(map[string]streamtest.FaultRates{"UpdateItem": {
			Throttle: .1, LimitExceeded: .1, Internal: .1, Cut: .1, LostAnswer: .2, Hang: .05,
		}})
		const items = 300
		for n := 1; n <= items; n++ {
			ticket, err := p.Track(t.Context(), n, 1)
			require.NoError(t, err)
			ticket.Ack()
			time.Sleep(700 * time.Millisecond)
		}
		p.Seal()
		<-p.Committed()
		writes := int64(s.Calls()["UpdateItem"].Calls - claims)
		require.NotZero(t, failures.Load())
		require.Equal(t, commits.Load()+failures.Load(), writes)
		require.NoError(t, c.Close(t.Context()))
		s.SetFaults(nil)
		row, err := store.Load(t.Context(), p.Key())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(items), row.Position)
		require.True(t, row.Complete)
	})
}

// What the IAM policy of the documentation allows is what is called, no more
// and no less.
func TestOperationsAreThoseOfThePolicy(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	ctx := t.Context()
	require.NoError(t, dynamostore.EnsureTable(ctx, s.Dynamo(), "checkpoints"))
	require.Equal(t, policyActions(t, "EnsureTable"), operations(s))

	s = streamtest.New(streamtest.Config{})
	require.NoError(t, s.CreateTable(streamtest.Table{Name: "checkpoints", Hash: "pipeline", Range: "partition"}))
	store := dynamostore.New(s.Dynamo(), "checkpoints")
	_, _, err := checkpoint.Begin(ctx, store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
	require.NoError(t, err)
	cp, err := store.Claim(ctx, key, "me")
	require.NoError(t, err)
	cp.Position, cp.Revision = "1", 1
	require.NoError(t, store.Save(ctx, cp))
	_, err = store.Load(ctx, key)
	require.NoError(t, err)
	for _, err := range store.List(ctx, "orders", "stream/") {
		require.NoError(t, err)
	}
	require.NoError(t, store.Delete(ctx, key))
	require.Equal(t, policyActions(t, "Store"), operations(s))
}

func operations(s *streamtest.Service) []string {
	ops := []string{}
	for op := range s.Calls() {
		ops = append(ops, "dynamodb:"+op)
	}
	slices.Sort(ops)
	return ops
}

// Not waiting for the store at the end of a program is an error that says so.
func TestHungSaveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{})
		require.NoError(t, dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints"))
		store := dynamostore.New(dynamodb.NewFromConfig(s.AWSConfig()), "checkpoints")
		cp, err := store.Claim(t.Context(), key, "me")
		require.NoError(t, err)
		s.FailNext("UpdateItem", streamtest.Hang, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		cp.Revision = 1
		err = store.Save(ctx, cp)
		require.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		require.Equal(t, 3*time.Second, time.Since(begin))
	})
}

// A write unit is 1 KB of item, names of attributes included.
func TestAShardsRowIsOneWriteUnit(t *testing.T) {
	s := streamtest.New(streamtest.Config{})
	require.NoError(t, dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints"))
	store := dynamostore.New(s.Dynamo(), "checkpoints", dynamostore.ExpireAfter(dynamostore.FinishedShards(0)))
	key := checkpoint.Key{Pipeline: "orders-to-search", Partition: "stream/2026-01-02T03:04:05.678/shardId-00000001767225600123-0a1b2c3d"}
	cp, err := store.Claim(t.Context(), key, checkpoint.NewOwner("ip-10-0-123-45.ec2.internal"))
	require.NoError(t, err)
	cp.Position, cp.Complete, cp.Revision = strings.Repeat("9", 56), true, 1
	cp.EventTime, cp.UpdatedAt = time.Now(), time.Now()
	require.NoError(t, store.Save(t.Context(), cp))
	size := 0
	for name, value := range s.Items("checkpoints")[0] {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += (len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberBOOL:
			size++
		default:
			t.Fatalf("%s is %T", name, v)
		}
	}
	require.Less(t, size, 350)
}
