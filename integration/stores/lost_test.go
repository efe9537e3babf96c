//go:build integration

package stores_test

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/integration/servers"
)

// TestLostAnswers: the real SDK, a real server, and a connection that breaks
// after the server applied the request.
func TestLostAnswers(t *testing.T) {
	for _, s := range servers.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			server := start(t, s)
			table := newTable(t, server.DynamoDB())
			wire := newLossy(t, server.URL)
			client := servers.At(server.Name, wire.server.URL).DynamoDB(func(o *dynamodb.Options) {
				o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond)
			})
			store := dynamostore.New(as(server.Name, client), table)
			at := func(partition string) checkpoint.Key {
				return checkpoint.Key{Pipeline: "lost", Partition: partition}
			}

			t.Run("Begin repeated by the SDK is still ours", func(t *testing.T) {
				wire.Lose("UpdateItem", 1)
				o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(1_800_000_000, 0).UTC(), Source: "arn"}
				got, created, err := store.Begin(t.Context(), "begin", o)
				require.NoError(t, err)
				require.True(t, created, "one's own write was read as another's")
				require.Equal(t, o, got)
				got, created, err = store.Begin(t.Context(), "begin", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
				require.NoError(t, err)
				require.False(t, created)
				require.Equal(t, o, got)
			})

			t.Run("Claim repeated by the SDK holds", func(t *testing.T) {
				wire.Lose("UpdateItem", 1)
				cp, err := store.Claim(t.Context(), at("claim"), "me")
				require.NoError(t, err)
				require.Equal(t, uint64(2), cp.Fence, "raised twice, and the second was returned")
				cp.Position, cp.Revision = "1", 1
				require.NoError(t, store.Save(t.Context(), cp))
			})

			t.Run("Save is an error, is applied, and may be repeated", func(t *testing.T) {
				cp, err := store.Claim(t.Context(), at("save"), "me")
				require.NoError(t, err)
				before := wire.Calls("UpdateItem")
				wire.Lose("UpdateItem", 1)
				cp.Position, cp.Revision, cp.Complete = "1", 1, true
				require.Error(t, store.Save(t.Context(), cp))
				require.Equal(t, before+1, wire.Calls("UpdateItem"), "the SDK must not repeat a save")
				row, err := store.Load(t.Context(), cp.Key)
				require.NoError(t, err)
				require.Equal(t, "1", row.Position)
				require.NoError(t, store.Save(t.Context(), cp), "a repeat of one's own write is no thief")
			})

			t.Run("a save that arrives late changes nothing", func(t *testing.T) {
				cp, err := store.Claim(t.Context(), at("late"), "me")
				require.NoError(t, err)
				late := cp
				late.Position, late.Revision = "1", 1
				before := wire.Calls("UpdateItem")
				release := wire.Hold("UpdateItem")
				done := make(chan error, 1)
				go func() { done <- store.Save(t.Context(), late) }()
				require.Eventually(t, func() bool { return wire.Calls("UpdateItem") == before+1 }, 10*time.Second, time.Millisecond)
				cp.Position, cp.Revision = "2", 2
				require.NoError(t, store.Save(t.Context(), cp))
				release()
				require.ErrorIs(t, <-done, checkpoint.ErrFenced)
				row, err := store.Load(t.Context(), cp.Key)
				require.NoError(t, err)
				require.Equal(t, "2", row.Position)
			})

			t.Run("the Committer gets through, one request a try", func(t *testing.T) {
				failed := make(chan struct{}, 100)
				c := checkpoint.NewCommitter(store, "committer",
					checkpoint.Interval(0), checkpoint.Backoff(time.Millisecond, 2*time.Millisecond), checkpoint.Logger(slog.New(slog.DiscardHandler)),
					checkpoint.WithHooks(checkpoint.Hooks{CommitFailed: func(checkpoint.Key, error, int) { failed <- struct{}{} }}))
				defer c.Close(context.Background())
				p, _, err := checkpoint.Open(t.Context(), c, "a", checkpoint.Text[string]{})
				require.NoError(t, err)
				before := wire.Calls("UpdateItem")
				const commits, losses = 10, 4
				for i := range commits {
					if i == commits/2 {
						wire.Lose("UpdateItem", losses)
					}
					ticket, err := p.Track(t.Context(), strconv.Itoa(i+1), 1)
					require.NoError(t, err)
					require.True(t, ticket.Ack())
					require.NoError(t, c.Flush(t.Context()))
				}
				require.Len(t, failed, losses)
				require.Equal(t, commits+losses, wire.Calls("UpdateItem")-before)
				row, err := store.Load(t.Context(), p.Key())
				require.NoError(t, err)
				require.Equal(t, strconv.Itoa(commits), row.Position)
			})
		})
	}
}
