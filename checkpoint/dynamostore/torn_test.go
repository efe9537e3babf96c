package dynamostore_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
)

const (
	row   = `{"pipeline":{"S":"orders"},"partition":{"S":"stream/2026/shard-1"},"position":{"S":"7"},"fence":{"N":"3"},"revision":{"N":"5"},"owner":{"S":"me"},"complete":{"BOOL":false}}`
	table = `{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"pipeline","KeyType":"HASH"},{"AttributeName":"partition","KeyType":"RANGE"}],` +
		`"AttributeDefinitions":[{"AttributeName":"pipeline","AttributeType":"S"},{"AttributeName":"partition","AttributeType":"S"}]}`
)

// whole is what the service answers.
var whole = map[string]string{
	"GetItem": `{"Item":` + row + `}`, "Query": `{"Items":[` + row + `],"Count":1,"ScannedCount":1}`,
	"UpdateItem": `{"Attributes":` + row + `}`, "DeleteItem": `{}`, "DescribeTable": `{"Table":` + table + `}`,
}

// The ways in which less than that arrives.
var tears = map[string]func(http.ResponseWriter, string){
	"no body": func(http.ResponseWriter, string) {},
	"half a body": func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Length", "400")
		ok(w, body[:len(body)/2])
	},
	"half a body, as if it were all": func(w http.ResponseWriter, body string) { ok(w, body[:len(body)/2]) },
}

// An answer that lost its body looks like one of a row that is not there: what
// was saved would be read again, begun again, or be counted as saved.
func TestTornAnswerIsNoAnswer(t *testing.T) {
	now := time.Now()
	for name, use := range map[string]func(s *dynamostore.Store) error{
		"Load": func(s *dynamostore.Store) error {
			cp, err := s.Load(t.Context(), key)
			if err == nil {
				require.Equal(t, "7", cp.Position)
			}
			return err
		},
		"Claim": func(s *dynamostore.Store) error {
			cp, err := s.Claim(t.Context(), key, "me")
			if err == nil {
				require.Equal(t, "7", cp.Position)
			}
			return err
		},
		"List": func(s *dynamostore.Store) error {
			rows := 0
			for _, err := range s.List(t.Context(), "orders", "") {
				if err != nil {
					return err
				}
				rows++
			}
			require.Equal(t, 1, rows)
			return nil
		},
		"HasAny": func(s *dynamostore.Store) error {
			any, err := s.HasAny(t.Context(), "orders")
			require.Equal(t, err == nil, any)
			return err
		},
		"Begin": func(s *dynamostore.Store) error {
			_, _, err := s.Begin(t.Context(), "orders", checkpoint.Origin{Start: checkpoint.StartLatest, Time: now})
			return err
		},
		"Delete": func(s *dynamostore.Store) error { return s.Delete(t.Context(), key) },
	} {
		for how, tear := range tears {
			t.Run(name+" "+how, func(t *testing.T) {
				v := newWire(t, func(n int, c call, w http.ResponseWriter) {
					switch {
					case n < 2:
						tear(w, whole[c.op])
					case name == "Begin" && c.op == "GetItem":
						ok(w, "{}")
					default:
						ok(w, whole[c.op])
					}
				})
				require.NoError(t, use(dynamostore.New(v.client(), "checkpoints")))
				require.Greater(t, len(v.ops()), 2)
			})
			t.Run(name+" "+how+", for ever", func(t *testing.T) {
				v := newWire(t, func(_ int, c call, w http.ResponseWriter) { tear(w, whole[c.op]) })
				err := use(dynamostore.New(v.client(), "checkpoints"))
				require.ErrorContains(t, err, "the answer did not arrive whole")
				require.NotErrorIs(t, err, checkpoint.ErrNotFound)
				require.NotErrorIs(t, err, checkpoint.ErrBadRow)
				require.False(t, strings.Contains(err.Error(), "shard-1\"}"), "it quotes the row: %v", err)
			})
		}
	}
}

func TestTornAnswerOfSaveIsNoSave(t *testing.T) {
	for how, tear := range tears {
		t.Run(how, func(t *testing.T) {
			v := newWire(t, func(_ int, c call, w http.ResponseWriter) { tear(w, "{ }") })
			err := dynamostore.New(v.client(), "checkpoints").Save(t.Context(), saved)
			require.ErrorContains(t, err, "the answer did not arrive whole")
			require.Equal(t, []string{"UpdateItem"}, v.ops(), "who repeats a save is the caller")
		})
	}
}

func TestEnsureTableAsksAgainForTornAnswers(t *testing.T) {
	for how, tear := range tears {
		t.Run(how, func(t *testing.T) {
			v := newWire(t, func(n int, c call, w http.ResponseWriter) {
				if n < 2 {
					tear(w, whole[c.op])
					return
				}
				ok(w, whole[c.op])
			})
			require.NoError(t, dynamostore.EnsureTable(t.Context(), v.client(), "checkpoints"))
			require.Equal(t, []string{"DescribeTable", "DescribeTable", "DescribeTable"}, v.ops())
		})
		t.Run(how+", for ever", func(t *testing.T) {
			v := newWire(t, func(_ int, c call, w http.ResponseWriter) { tear(w, whole[c.op]) })
			err := dynamostore.EnsureTable(t.Context(), v.client(), "checkpoints")
			require.ErrorContains(t, err, "describe table checkpoints")
			require.ErrorContains(t, err, "the answer did not arrive whole")
		})
	}
}
