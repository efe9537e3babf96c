package tablescan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// answered is an error as the SDK wraps it behind an answer of that status.
func answered(status int, err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Scan", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
		},
	}}
}

func unanswered(err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Scan", Err: err}
}

func TestRetryable(t *testing.T) {
	unreadable := func(err error) error { return &smithy.DeserializationError{Err: err} }
	syntax := errors.New("invalid literal at offset 3")
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"cancelled", unanswered(context.Canceled), false},
		{"a deadline of the client's", unanswered(context.DeadlineExceeded), true},

		{"200, body cut", answered(200, unreadable(io.ErrUnexpectedEOF)), true},
		{"200, body reset", answered(200, unreadable(reset)), true},
		{"200, half a document", answered(200, unreadable(syntax)), true},
		{"200, another checksum", answered(200, errors.New("checksum does not match")), true},
		{"400, body cut", answered(400, unreadable(fmt.Errorf("copy: %w", io.ErrUnexpectedEOF))), true},
		{"400, body reset", answered(400, unreadable(reset)), true},
		{"400, no body", answered(400, unreadable(io.EOF)), true},
		{"403, a page of somebody between", answered(403, unreadable(syntax)), false},
		{"302", answered(302, unreadable(syntax)), false},
		{"408", answered(408, unreadable(syntax)), true},
		{"429", answered(429, unreadable(syntax)), true},
		{"500", answered(500, unreadable(syntax)), true},
		{"503", answered(503, unreadable(syntax)), true},

		{"not sent: reset", unanswered(&smithyhttp.RequestSendError{Err: reset}), true},
		{"a client without wrapping: cut", io.ErrUnexpectedEOF, true},
		{"a client without wrapping: reset", syscall.ECONNRESET, true},
		{"a client without wrapping: unreadable", unreadable(syntax), true},
		{"cannot be serialized", unanswered(&smithy.SerializationError{Err: syntax}), false},
		{"bad parameters", unanswered(smithy.InvalidParamsError{Context: "ScanInput"}), false},

		{"throttled", answered(400, &types.ProvisionedThroughputExceededException{}), true},
		{"server's fault", answered(500, &types.InternalServerError{}), true},
		{"refused", answered(400, &smithy.GenericAPIError{Code: "ValidationException"}), false},
		{"no right to", answered(400, &smithy.GenericAPIError{Code: "AccessDeniedException"}), false},
		{"unknown", errors.New("something"), false},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, retryable(c.err), "%v", c.err) })
	}
}

// tearing cuts the first answers of an operation: the header promises it all.
type tearing struct {
	http.RoundTripper
	how func(body []byte) ([]byte, error) // what arrives, and the error behind it

	mu   sync.Mutex
	left map[string]int // answers to cut, by operation
}

func (c *tearing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[op] == 0 {
		return resp, nil
	}
	c.left[op]--
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, err
	}
	some, end := c.how(body)
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(some), failing{end}))
	return resp, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

var tears = map[string]func(body []byte) ([]byte, error){
	"in the middle":       func(b []byte) ([]byte, error) { return b[:len(b)/2], io.ErrUnexpectedEOF },
	"reset":               func(b []byte) ([]byte, error) { return b[:len(b)-1], &net.OpError{Op: "read", Err: syscall.ECONNRESET} },
	"without an error":    func(b []byte) ([]byte, error) { return b[:len(b)/2], io.EOF },
	"before its first":    func(b []byte) ([]byte, error) { return nil, io.ErrUnexpectedEOF },
	"nothing, no error":   func([]byte) ([]byte, error) { return nil, io.EOF },
	"an empty object":     func([]byte) ([]byte, error) { return []byte("{}"), io.EOF },
	"of somebody between": func([]byte) ([]byte, error) { return []byte("<html>please log in</html>"), io.EOF },
}

// An answer that arrives in part, behind a header of success, is asked for again
// by every call: planning, starting, scanning and the look at the end.
func TestTornAnswerIsAskedForAgain(t *testing.T) {
	for name, how := range tears {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				table, store, seen := fill(t, "S", 60), checkpoint.NewMemory(), map[string]int{}
				cut := &tearing{RoundTripper: table, how: how, left: map[string]int{"Scan": 3, "DescribeTable": 2}}
				aws1 := table.AWSConfig()
				aws1.HTTPClient = &http.Client{Transport: cut}
				client := dynamodb.NewFromConfig(aws1, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
				var log bytes.Buffer
				var plan backfill.Plan
				s := start(t, store, Config{
					Client: client, Segments: 2, Parallel: 1, Limit: 7,
					Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				}, &plan)
				require.NotEmpty(t, plan.Source)
				cut.mu.Lock()
				cut.left["DescribeTable"] = 2 // of the look at the end
				cut.mu.Unlock()
				s.all(seen)
				retries := s.Progress().Retries
				s.end()
				require.Len(t, seen, 60)
				require.EqualValues(t, 3, retries)
				require.Zero(t, cut.left["DescribeTable"])
				for _, row := range rows(t, store) {
					require.True(t, row.Complete)
				}
				require.NotContains(t, log.String(), "k-", "a key in the log")
				require.NotContains(t, log.String(), "some text", "an item in the log")
			})
		})
	}
}

// Over a real connection, too.
func TestAnswerCutOnTheWire(t *testing.T) {
	table, cut := fill(t, "S", 20), 3
	var mu sync.Mutex
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := cut > 0 && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan")
		if now {
			cut--
		}
		mu.Unlock()
		if !now {
			table.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"Items":[{"id":{"S":"k-1"},"n":{"N":"1`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	defer func() { _ = server.Close(); <-served }()

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	cfg := table.AWSConfig()
	cfg.BaseEndpoint, cfg.HTTPClient = aws.String("http://"+l.Addr().String()), &http.Client{Transport: transport}
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	seen := map[string]int{}
	var errs []error
	s := start(t, checkpoint.NewMemory(), Config{
		Client: client, Parallel: 1, Retry: backfill.Backoff{Min: time.Microsecond, Max: time.Microsecond},
		OnRetry: func(_ int, err error, _ int) { errs = append(errs, err) },
	}, &backfill.Plan{})
	s.all(seen)
	s.end()
	require.Len(t, seen, 20)
	require.Len(t, errs, 3)
	for _, err := range errs {
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the cause stays visible")
	}
}

// The position of a scan is an item's key: it stands in the checkpoint row, not
// in errors and logs.
func TestErrorsAndLogsQuoteNoItem(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const secret = "patient-4711"
				var log bytes.Buffer
				c := &spy{Client: fill(t, kind, 10).Dynamo()}
				refused := &smithy.GenericAPIError{Code: "ValidationException", Message: "no"}
				c.scan = func(n int, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
					switch {
					case n == 2:
						// What the SDK says of a page that it cannot read may quote it.
						return nil, answered(200, &smithy.DeserializationError{Err: fmt.Errorf("expected string, got %s", secret)})
					case n > 2:
						require.NotEmpty(t, in.ExclusiveStartKey)
						return nil, answered(400, refused)
					}
					return &dynamodb.ScanOutput{
						Items:            []map[string]types.AttributeValue{{"id": str(secret)}},
						LastEvaluatedKey: map[string]types.AttributeValue{"id": str(secret), "at": str(secret)},
					}, nil
				}
				var told []error
				s := start(t, checkpoint.NewMemory(), Config{
					Client: c, Limit: 2, OnRetry: func(_ int, err error, _ int) { told = append(told, err) },
					Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				}, &backfill.Plan{})
				err := readErr(s)
				s.crash()
				require.ErrorContains(t, err, `table "t", segment 0 of 1`)
				require.ErrorIs(t, err, refused)
				require.NotContains(t, err.Error(), secret)
				require.Len(t, told, 1)
				require.NotContains(t, told[0].Error(), secret)
				require.NotEmpty(t, log.String())
				require.NotContains(t, log.String(), secret)
			})
		})
	}
}
