package dynamostore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
)

// TestRequests shows each request as it goes over the wire. Commands are the
// Store's methods, arguments the fields; the output is the request's body.
func TestRequests(t *testing.T) {
	datadriven.RunTest(t, "testdata/requests.txt", func(t *testing.T, d *datadriven.TestData) string {
		v := newWire(t, func(_ int, _ call, w http.ResponseWriter) {
			ok(w, `{"Attributes":{"pipeline":{"S":"orders"},"partition":{"S":"a"},"fence":{"N":"1"}}}`)
		})
		var opts []dynamostore.Option
		if d.HasArg("expire") {
			opts = append(opts, dynamostore.ExpireAfter(func(cp checkpoint.Checkpoint) time.Duration {
				if cp.Complete {
					return time.Hour
				}
				return 0
			}))
		}
		s := dynamostore.New(v.client(), "checkpoints", opts...)
		arg := func(name string) (value string) {
			d.MaybeScanArgs(t, name, &value)
			return value
		}
		number := func(name string) (n uint64) {
			d.MaybeScanArgs(t, name, &n)
			return n
		}
		at := func(name string) time.Time {
			if n := number(name); n > 0 {
				return time.UnixMilli(int64(n))
			}
			return time.Time{}
		}
		key := checkpoint.Key{Pipeline: "orders", Partition: arg("partition")}
		ctx := t.Context()
		var err error
		switch d.Cmd {
		case "claim":
			_, err = s.Claim(ctx, key, arg("owner"))
		case "save":
			err = s.Save(ctx, checkpoint.Checkpoint{
				Key: key, Position: arg("position"), Complete: d.HasArg("complete"), Owner: arg("owner"),
				Fence: number("fence"), Revision: number("revision"), EventTime: at("event"), UpdatedAt: at("updated"),
			})
		case "load":
			_, err = s.Load(ctx, key)
			if errors.Is(err, checkpoint.ErrNotFound) {
				err = nil
			}
		case "list":
			for _, e := range s.List(ctx, "orders", arg("prefix")) {
				err = e
			}
		case "has-any":
			_, err = s.HasAny(ctx, "orders")
		case "begin":
			_, _, err = s.Begin(ctx, "orders", checkpoint.Origin{Start: checkpoint.Start(arg("start")), Time: at("time"), Source: arg("source")})
		case "delete":
			err = s.Delete(ctx, key)
		case "ensure-table":
			v = newWire(t, func(n int, c call, w http.ResponseWriter) {
				switch {
				case n == 0:
					fault(w, 400, "ResourceNotFoundException", "")
				case c.op == "CreateTable":
					ok(w, `{}`)
				default:
					ok(w, `{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"pipeline","KeyType":"HASH"},{"AttributeName":"partition","KeyType":"RANGE"}],`+
						`"AttributeDefinitions":[{"AttributeName":"pipeline","AttributeType":"S"},{"AttributeName":"partition","AttributeType":"S"}]}}`)
				}
			})
			err = dynamostore.EnsureTable(ctx, v.client(), "checkpoints")
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, c := range v.calls {
			out.WriteString(readable(t, c))
		}
		return out.String()
	})
}

// What differs from run to run: the clock, and the token of Begin.
var (
	clock = regexp.MustCompile(`"(:updated_at|:expires_at)":\{"N":"1[0-9]{9,12}"\}`)
	token = regexp.MustCompile(`":token":\{"S":"[A-Z0-9]{26}"\}`)
)

// readable is a request with one line a parameter, in the order of their names.
func readable(t *testing.T, c call) string {
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(c.body), &fields))
	var b strings.Builder
	b.WriteString(c.op + "\n")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var value any
		require.NoError(t, json.Unmarshal(fields[name], &value))
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(value)) // sorts the keys of what is inside
		fmt.Fprintf(&b, "  %s %s", name, line.String())
	}
	text := clock.ReplaceAllStringFunc(b.String(), func(m string) string {
		if strings.Contains(m, "17672256") { // as the command says
			return m
		}
		name, _, _ := strings.Cut(m, `:{"N"`)
		return name + `:{"N":"NOW"}`
	})
	return token.ReplaceAllString(text, `":token":{"S":"TOKEN"}`)
}
