package dynamostore_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
)

var (
	key   = checkpoint.Key{Pipeline: "orders", Partition: "stream/2026/shard-1"}
	saved = checkpoint.Checkpoint{Key: key, Position: "1", Fence: 3, Revision: 5, Owner: "me"}
)

// standingRow is the Item field of a refused condition.
func standingRow(fence, revision, owner, complete string) string {
	return `,"Item":{"pipeline":{"S":"orders"},"partition":{"S":"stream/2026/shard-1"},"fence":{"N":"` + fence +
		`"},"revision":{"N":"` + revision + `"},"owner":{"S":"` + owner + `"},"complete":{"BOOL":` + complete + `}}`
}

// A save is one request whatever comes back: who repeats it is the caller, and
// only that one.
func TestSaveIsOneRequestWhateverTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   error // nil: an error that may be tried again
	}{
		"newer fence":    {func(w http.ResponseWriter) { refuse(w, standingRow("4", "0", "you", "false")) }, checkpoint.ErrFenced},
		"newer revision": {func(w http.ResponseWriter) { refuse(w, standingRow("3", "6", "me", "false")) }, checkpoint.ErrFenced},
		"other owner":    {func(w http.ResponseWriter) { refuse(w, standingRow("3", "0", "you", "true")) }, checkpoint.ErrFenced},
		"deleted":        {func(w http.ResponseWriter) { refuse(w, "") }, checkpoint.ErrFenced},
		"not our row":    {func(w http.ResponseWriter) { refuse(w, `,"Item":{"fence":{"S":"x"}}`) }, checkpoint.ErrFenced},
		"complete":       {func(w http.ResponseWriter) { refuse(w, standingRow("3", "5", "me", "true")) }, checkpoint.ErrComplete},
		"no table":       {func(w http.ResponseWriter) { fault(w, 400, "ResourceNotFoundException", "") }, dynamostore.ErrNoTable},
		"throughput":     {func(w http.ResponseWriter) { fault(w, 400, "ProvisionedThroughputExceededException", "") }, nil},
		"throttled":      {func(w http.ResponseWriter) { fault(w, 400, "ThrottlingException", "") }, nil},
		"500":            {func(w http.ResponseWriter) { fault(w, 500, "InternalServerError", "") }, nil},
		"503 by a proxy": {func(w http.ResponseWriter) { w.WriteHeader(503) }, nil},
		"cut":            {func(http.ResponseWriter) { cut() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWire(t, func(_ int, _ call, w http.ResponseWriter) { c.answer(w) })
			err := dynamostore.New(v.client(), "checkpoints").Save(t.Context(), saved)
			require.Error(t, err)
			require.Contains(t, err.Error(), key.String())
			for _, sentinel := range []error{checkpoint.ErrFenced, checkpoint.ErrComplete, dynamostore.ErrNoTable} {
				require.Equal(t, sentinel == c.want, errors.Is(err, sentinel), "%v: %v", sentinel, err)
			}
			require.Equal(t, []string{"UpdateItem"}, v.ops())
		})
	}
}

func refuse(w http.ResponseWriter, row string) { fault(w, 400, "ConditionalCheckFailedException", row) }

// Whatever the Committer does not repeat is repeated by the SDK.
func TestOtherCallsUseTheClientsRetries(t *testing.T) {
	for name, c := range map[string]struct {
		call func(ctx context.Context, s *dynamostore.Store) error
		body string
	}{
		"Claim": {func(ctx context.Context, s *dynamostore.Store) error {
			_, err := s.Claim(ctx, key, "me")
			return err
		}, `{"Attributes":{"pipeline":{"S":"orders"},"partition":{"S":"a"},"fence":{"N":"1"}}}`},
		"Load": {func(ctx context.Context, s *dynamostore.Store) error {
			_, err := s.Load(ctx, key)
			return err
		}, `{"Item":{"pipeline":{"S":"orders"},"partition":{"S":"a"},"fence":{"N":"1"}}}`},
		"List": {func(ctx context.Context, s *dynamostore.Store) error {
			for _, err := range s.List(ctx, "orders", "") {
				return err
			}
			return nil
		}, `{"Items":[]}`},
		"HasAny": {func(ctx context.Context, s *dynamostore.Store) error {
			_, err := s.HasAny(ctx, "orders")
			return err
		}, `{"Items":[]}`},
		"Delete": {func(ctx context.Context, s *dynamostore.Store) error { return s.Delete(ctx, key) }, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWire(t, func(n int, _ call, w http.ResponseWriter) {
				switch n {
				case 0:
					fault(w, 400, "ThrottlingException", "")
				case 1:
					cut()
				default:
					ok(w, c.body)
				}
			})
			require.NoError(t, c.call(t.Context(), dynamostore.New(v.client(), "checkpoints")))
			require.Len(t, v.ops(), 3)
		})
		t.Run(name+" without a table", func(t *testing.T) {
			v := newWire(t, func(_ int, _ call, w http.ResponseWriter) { fault(w, 400, "ResourceNotFoundException", "") })
			err := c.call(t.Context(), dynamostore.New(v.client(), "checkpoints"))
			require.ErrorIs(t, err, dynamostore.ErrNoTable)
			require.NotErrorIs(t, err, checkpoint.ErrNotFound)
			require.ErrorContains(t, err, "checkpoints")
			require.Len(t, v.ops(), 1)
		})
		t.Run(name+" cancelled", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			v := newWire(t, func(_ int, _ call, w http.ResponseWriter) {
				cancel()
				fault(w, 500, "InternalServerError", "")
			})
			err := c.call(ctx, dynamostore.New(v.client(), "checkpoints"))
			require.Equal(t, context.Canceled, err, "raw: a stop is not a failure of the store")
		})
	}
}

// The answer to the write of the origin is lost, the SDK writes again, and the
// condition must let its own token through: seen on the wire, both writes are one.
func TestBeginRecognisesItsOwnWrite(t *testing.T) {
	var writes []string
	v := newWire(t, func(_ int, c call, w http.ResponseWriter) {
		switch {
		case c.op == "GetItem":
			ok(w, `{}`)
		case len(writes) == 0:
			writes = append(writes, c.body)
			cut()
		default:
			writes = append(writes, c.body)
			ok(w, `{}`)
		}
	})
	origin := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(1_800_000_000, 0)}
	_, created, err := dynamostore.New(v.client(), "checkpoints").Begin(t.Context(), "orders", origin)
	require.NoError(t, err)
	require.True(t, created)
	require.Len(t, writes, 2)
	require.Equal(t, writes[0], writes[1])
	require.Contains(t, writes[0], "OR #owner = :token")
}

// Another process creates the origin between our look and our write.
func TestBeginLosesTheRace(t *testing.T) {
	gets := 0
	v := newWire(t, func(_ int, c call, w http.ResponseWriter) {
		switch {
		case c.op != "GetItem":
			refuse(w, "")
		case gets == 0:
			gets++
			ok(w, `{}`)
		default:
			ok(w, `{"Item":{"pipeline":{"S":"orders"},"partition":{"S":"origin"},"start":{"S":"trim_horizon"},"owner":{"S":"them"}}}`)
		}
	})
	o, created, err := dynamostore.New(v.client(), "checkpoints").Begin(t.Context(), "orders",
		checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(1_800_000_000, 0)})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, checkpoint.Origin{Start: checkpoint.StartTrimHorizon}, o)
	require.Equal(t, []string{"GetItem", "UpdateItem", "GetItem"}, v.ops())
}

// A page may be empty and still not be the last.
func TestListAndHasAnyReadEveryPage(t *testing.T) {
	pages := []string{
		`{"Items":[],"LastEvaluatedKey":{"pipeline":{"S":"orders"},"partition":{"S":"a"}}}`,
		`{"Items":[{"pipeline":{"S":"orders"},"partition":{"S":"b"},"fence":{"N":"1"}}],"LastEvaluatedKey":{"pipeline":{"S":"orders"},"partition":{"S":"b"}}}`,
		`{"Items":[{"pipeline":{"S":"orders"},"partition":{"S":"origin"},"start":{"S":"latest"}},{"pipeline":{"S":"orders"},"partition":{"S":"z"},"fence":{"N":"2"}}]}`,
	}
	v := newWire(t, func(n int, _ call, w http.ResponseWriter) { ok(w, pages[n]) })
	var got []string
	for cp, err := range dynamostore.New(v.client(), "checkpoints").List(t.Context(), "orders", "") {
		require.NoError(t, err)
		got = append(got, cp.Partition)
	}
	require.Equal(t, []string{"b", "z"}, got)
	require.Regexp(t, `"ExclusiveStartKey":\{[^}]*"S":"(orders|b)"[^}]*\},[^}]*"S":"(orders|b)"`, v.calls[2].body)

	v = newWire(t, func(n int, _ call, w http.ResponseWriter) { ok(w, pages[n]) })
	any, err := dynamostore.New(v.client(), "checkpoints").HasAny(t.Context(), "orders")
	require.NoError(t, err)
	require.True(t, any)
	require.Len(t, v.ops(), 2)
}

func TestListStopsAtTheFirstErrorAndWhenToldTo(t *testing.T) {
	v := newWire(t, func(n int, _ call, w http.ResponseWriter) {
		if n > 0 {
			fault(w, 400, "AccessDeniedException", "")
			return
		}
		ok(w, `{"Items":[{"pipeline":{"S":"orders"},"partition":{"S":"b"},"fence":{"N":"1"}}],"LastEvaluatedKey":{"pipeline":{"S":"orders"},"partition":{"S":"b"}}}`)
	})
	s := dynamostore.New(v.client(), "checkpoints")
	for range s.List(t.Context(), "orders", "") {
		break
	}
	require.Len(t, v.ops(), 1)
	var errs []error
	for _, err := range s.List(t.Context(), "orders", "x/") {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], "orders/x/")
}
