package dynamostore_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func s(v string) types.AttributeValue     { return &types.AttributeValueMemberS{Value: v} }
func n(v string) types.AttributeValue     { return &types.AttributeValueMemberN{Value: v} }
func boolean(v bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: v} }

// tableWith is a table that holds this one item, under key.
func tableWith(t require.TestingT, item streamtest.Item) (*streamtest.Service, *dynamostore.Store) {
	svc := streamtest.New(streamtest.Config{})
	require.NoError(t, svc.CreateTable(streamtest.Table{Name: "checkpoints", Hash: "pipeline", Range: "partition"}))
	item["pipeline"] = s(key.Pipeline)
	if item["partition"] == nil {
		item["partition"] = s(key.Partition)
	}
	_, err := svc.Put("checkpoints", item)
	require.NoError(t, err)
	return svc, dynamostore.New(svc.Dynamo(), "checkpoints")
}

// A row of another program or of a later version is an error that names it,
// whichever method meets it, and is left as it is.
func TestC8_RowsOfOthersAreRefused(t *testing.T) {
	for name, item := range map[string]streamtest.Item{
		"a later version":      {"fence": n("1"), "schema": n("2")},
		"position is a number": {"fence": n("1"), "position": n("17")},
		"complete is a string": {"fence": n("1"), "complete": s("true")},
		"fence is no integer":  {"fence": n("1.5")},
		"fence is negative":    {"fence": n("-1")},
		"fence is too large":   {"fence": n("18446744073709551616")},
		"revision is a string": {"fence": n("1"), "revision": s("1")},
		"time is no integer":   {"fence": n("1"), "event_time": n("0.5")},
		"owner is a boolean":   {"fence": n("1"), "owner": boolean(true)},
		"no fence":             {"position": s("17")},
	} {
		t.Run(name, func(t *testing.T) {
			svc, store := tableWith(t, item)
			refused := func(err error) {
				t.Helper()
				require.ErrorIs(t, err, checkpoint.ErrBadRow)
				require.ErrorContains(t, err, key.String())
			}
			_, err := store.Load(t.Context(), key)
			refused(err)
			listed := 0
			for _, err := range store.List(t.Context(), key.Pipeline, "") {
				refused(err)
				listed++
			}
			require.Equal(t, 1, listed)
			require.Equal(t, []streamtest.Item{item}, svc.Items("checkpoints"))
			if name == "a later version" { // not even claimed: its owner may be at work
				_, err = store.Claim(t.Context(), key, "me")
				refused(err)
				require.Equal(t, []streamtest.Item{item}, svc.Items("checkpoints"))
			}
		})
	}
}

func TestC8_OriginsOfOthersAreRefused(t *testing.T) {
	for name, item := range map[string]streamtest.Item{
		"a later version": {"start": s("latest"), "schema": n("2")},
		"unknown start":   {"start": s("yesterday")},
		"no start":        {"owner": s("x")},
		"time is a text":  {"start": s("latest"), "time": s("2026-01-01")},
	} {
		t.Run(name, func(t *testing.T) {
			item["partition"] = s("origin")
			svc, store := tableWith(t, item)
			_, created, err := store.Begin(t.Context(), key.Pipeline, checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
			require.ErrorIs(t, err, checkpoint.ErrBadRow)
			require.ErrorContains(t, err, key.Pipeline+"/origin")
			require.False(t, created)
			require.Equal(t, []streamtest.Item{item}, svc.Items("checkpoints"))
		})
	}
}

// Whatever the attributes hold, a row is read as exactly what stands there, or
// refused: there is no half-read row.
func TestC8_ARowIsReadWholeOrNotAtAll(t *testing.T) {
	value := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) types.AttributeValue { return s(rapid.String().Draw(t, "s")) }),
		rapid.Custom(func(t *rapid.T) types.AttributeValue { return n(strconv.FormatUint(rapid.Uint64().Draw(t, "n"), 10)) }),
		rapid.Custom(func(t *rapid.T) types.AttributeValue { return n(strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "n"))) }),
		rapid.Custom(func(t *rapid.T) types.AttributeValue { return boolean(rapid.Bool().Draw(t, "b")) }),
		rapid.Just[types.AttributeValue](&types.AttributeValueMemberNULL{Value: true}),
	)
	rapid.Check(t, func(t *rapid.T) {
		item := streamtest.Item(rapid.MapOfN(rapid.SampledFrom([]string{
			"position", "complete", "fence", "revision", "event_time", "updated_at", "owner", "another",
		}), value, 0, 8).Draw(t, "item"))
		item["partition"] = s(key.Partition)
		_, store := tableWith(t, item)
		cp, err := store.Load(t.Context(), key)
		if err != nil {
			require.ErrorIs(t, err, checkpoint.ErrBadRow)
			return
		}
		// The model: each field is its attribute's text, absent is zero.
		text := func(attr string) string {
			switch v := item[attr].(type) {
			case *types.AttributeValueMemberS:
				return v.Value
			case *types.AttributeValueMemberN:
				return v.Value
			case *types.AttributeValueMemberBOOL:
				return strconv.FormatBool(v.Value)
			case nil:
				return ""
			}
			return "something else"
		}
		or := func(v, zero string) string {
			if v == zero {
				return ""
			}
			return v
		}
		require.Equal(t, text("position"), cp.Position)
		require.Equal(t, text("owner"), cp.Owner)
		require.Equal(t, or(text("complete"), "false"), or(strconv.FormatBool(cp.Complete), "false"))
		require.Equal(t, text("fence"), strconv.FormatUint(cp.Fence, 10))
		require.Equal(t, or(text("revision"), "0"), or(strconv.FormatUint(cp.Revision, 10), "0"))
		if v := text("event_time"); v != "" {
			require.Equal(t, v, strconv.FormatInt(cp.EventTime.UnixMilli(), 10))
		} else {
			require.True(t, cp.EventTime.IsZero())
		}
	})
}
