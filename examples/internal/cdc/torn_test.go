//go:build unix

package cdc

import (
	"fmt"
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

func TestTornAnswersBeforeTheFirstRead(t *testing.T) {
	awsEnv(t)
	for name, how := range map[string]fault{"half an answer": halfAnAnswer, "no body": noBody} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, 20)
			way := &troubled{Handler: s}
			way.set(tears(2, how, preflight...))
			server := httptest.NewServer(way)
			defer server.Close()
			out := filepath.Join(t.TempDir(), "orders.jsonl")
			follow := jsonl.NewFollower(out)
			p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", server.URL, "-out", out)
			rows := 0
			p.until(t, "the rows", func() bool {
				lines, err := follow.Next()
				if err != nil {
					t.Fatal(err)
				}
				rows += len(lines)
				return rows >= 20
			})
			p.signal(t, syscall.SIGTERM)
			if code := p.code(t); code != exitOK {
				t.Errorf("exit %d: %s", code, p.said())
			}
		})
	}
}

// TestTornAnswersForEver: the end names the call, and what to do.
func TestTornAnswersForEver(t *testing.T) {
	awsEnv(t)
	for _, tc := range []struct {
		operation string
		how       fault
		says      string
	}{
		{"DescribeTable", halfAnAnswer, "read table orders: operation error DynamoDB: DescribeTable"},
		{"GetItem", noBody, "read the origin of p in table ackgate-checkpoints"},
	} {
		t.Run(fmt.Sprint(tc.operation, " ", tc.how), func(t *testing.T) {
			s, _ := serve(t, 0)
			way := &troubled{Handler: s}
			way.set(tears(1000, tc.how, tc.operation))
			server := httptest.NewServer(way)
			defer server.Close()
			p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", server.URL, "-out", filepath.Join(t.TempDir(), "o"))
			code, text := p.code(t), p.said()
			if code != exitFailed || strings.Count(text, "\n") != 1 || !strings.Contains(text, tc.says) ||
				!strings.Contains(text, "do not arrive whole: start again") || !strings.Contains(text, server.URL) {
				t.Errorf("exit %d and\n%s", code, text)
			}
		})
	}
}
