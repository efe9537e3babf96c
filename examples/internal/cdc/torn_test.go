//go:build unix

package cdc

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// tears makes the first n answers to each call of the operations torn, in a way
// of its own each.
func tears(n int, how fault, operations ...string) func(string, []byte) fault {
	var mu sync.Mutex
	calls := map[string]int{}
	return func(operation string, body []byte) fault {
		if !strings.Contains(strings.Join(operations, " "), operation) {
			return sound
		}
		if operation == "DescribeTable" {
			operation += string(body) // of which table
		}
		mu.Lock()
		defer mu.Unlock()
		calls[operation]++
		if calls[operation] <= n {
			return how
		}
		return sound
	}
}

// preflight is everything that is asked before the first read.
var preflight = []string{"DescribeTable", "CreateTable", "GetItem", "Query", "UpdateItem"}

func TestTroubleBeforeTheFirstRead(t *testing.T) {
	awsEnv(t)
	var checks []func() // side by side: each waits for pauses
	for name, choose := range map[string]func(string, []byte) fault{
		"half an answer":          tears(2, halfAnAnswer, preflight...),
		"no body":                 tears(2, noBody, preflight...),
		"a fault of the server's": tears(9, internalError, "GetItem"), // more often than the SDK repeats a call
	} {
		url := servedBy(t, 20, choose)
		out := filepath.Join(t.TempDir(), "orders.jsonl")
		p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", out)
		checks = append(checks, func() {
			follow, rows := jsonl.NewFollower(out), 0
			p.until(t, "the rows, with "+name, func() bool {
				lines, err := follow.Next()
				if err != nil {
					t.Fatal(err)
				}
				rows += len(lines)
				return rows >= 20
			})
			p.signal(t, syscall.SIGTERM)
			if code := p.code(t); code != exitOK {
				t.Errorf("%s: exit %d: %s", name, code, p.said())
			}
		})
	}
	for _, check := range checks {
		check()
	}
}

// TestTornAnswersForEver: the end names the call, and what to do.
func TestTornAnswersForEver(t *testing.T) {
	awsEnv(t)
	var checks []func()
	for _, tc := range []struct {
		operation string
		how       fault
		says      string
	}{
		{"DescribeTable", halfAnAnswer, "read table orders: operation error DynamoDB: DescribeTable"},
		{"DescribeTable", noBody, "read table orders: DescribeTable"},
		{"GetItem", halfAnAnswer, "read the origin of p in table ackgate-checkpoints"},
		{"GetItem", noBody, "read the origin of p in table ackgate-checkpoints"},
	} {
		url := servedBy(t, 0, tears(1000, tc.how, tc.operation))
		p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", url, "-out", filepath.Join(t.TempDir(), "o"))
		checks = append(checks, func() {
			code, text := p.code(t), p.said()
			if code != exitFailed || strings.Count(text, "\n") != 1 || !strings.Contains(text, tc.says) ||
				!strings.Contains(text, "the answers of "+url+" do not arrive whole: start again") {
				t.Errorf("%s: exit %d and\n%s", tc.operation, code, text)
			}
		})
	}
	for _, check := range checks {
		check()
	}
}

// servedBy is a server of n items behind the fault that choose chooses.
func servedBy(t *testing.T, n int, choose func(string, []byte) fault) (url string) {
	t.Helper()
	s, _ := serve(t, n)
	way := &troubled{Handler: s}
	way.set(choose)
	server := httptest.NewServer(way)
	t.Cleanup(server.Close)
	return server.URL
}
