package dynamostore_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// wire is the far end of the real SDK's connection: it records each request and
// answers as the test's function says.
type wire struct {
	server *httptest.Server
	turn   sync.Mutex // one answer at a time: they keep state, and one that is cut off tells nobody of it
	mu     sync.Mutex
	calls  []call
}

type call struct {
	op   string
	body string
}

// answer writes the answer to the n-th request, counted from 0.
type answer func(n int, c call, w http.ResponseWriter)

func newWire(t *testing.T, answer answer) *wire {
	t.Helper()
	v := &wire{}
	v.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		c := call{op: op, body: string(body)}
		v.mu.Lock()
		n := len(v.calls)
		v.calls = append(v.calls, c)
		v.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		v.turn.Lock()
		defer v.turn.Unlock()
		answer(n, c, w)
	}))
	t.Cleanup(v.server.Close)
	return v
}

// client is the real client, with its usual three attempts but no pauses
// between them.
func (v *wire) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: &v.server.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Retryer:      retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Microsecond),
		HTTPClient:   v.server.Client(),
	})
}

func (v *wire) ops() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	ops := []string{}
	for _, c := range v.calls {
		ops = append(ops, c.op)
	}
	return ops
}

func ok(w http.ResponseWriter, body string) { io.WriteString(w, body) }

// fault answers as DynamoDB does: the class in __type, more fields beside it.
func fault(w http.ResponseWriter, status int, class, fields string) {
	w.WriteHeader(status)
	io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+class+`","message":"no"`+fields+`}`)
}

// cut ends the connection without an answer.
func cut() { panic(http.ErrAbortHandler) }
