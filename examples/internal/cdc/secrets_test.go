package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// secrets are what nobody may find in a log: the credentials, and what the items say.
var secrets = []string{"AKIAMARVIN0000000042", "heart/of+gold/improbability", "session-of-trillian", "patient-arthur", "plague-of-vogons"}

func secretEnv(t *testing.T) {
	t.Helper()
	awsEnv(t)
	t.Setenv("AWS_ACCESS_KEY_ID", secrets[0])
	t.Setenv("AWS_SECRET_ACCESS_KEY", secrets[1])
	t.Setenv("AWS_SESSION_TOKEN", secrets[2])
}

func putSecret(t *testing.T, s *streamtest.Service, n int) {
	t.Helper()
	item := streamtest.Item{"id": text(fmt.Sprintf("%s-%d", secrets[3], n)), "diagnosis": text(secrets[4])}
	if _, err := s.Put("orders", item); err != nil {
		t.Fatal(err)
	}
}

func tellsNoSecret(t *testing.T, when, said string) {
	t.Helper()
	for _, secret := range secrets {
		if i := strings.Index(said, secret); i >= 0 {
			t.Errorf("%s: %q stands in what was said: …%s…", when, secret, said[max(0, i-200):min(len(said), i+100)])
		}
	}
}

// troubled is a server in front of another, with a fault for the calls that the
// test chooses.
type troubled struct {
	http.Handler
	fault atomic.Pointer[func(operation string, body []byte) fault]
}

type fault int

const (
	sound fault = iota
	internalError
	throttled
	denied
	invalidRequest
	halfAnAnswer
	noBody
	cutOff
)

func (s *troubled) set(f func(operation string, body []byte) fault) { s.fault.Store(&f) }

func (s *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	r.Body = http.NoBody
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f := sound
	if choose := s.fault.Load(); choose != nil {
		f = (*choose)(operation, body.Bytes())
	}
	say := func(status int, name string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as the test wants"}`, name)
	}
	switch f {
	case internalError:
		say(http.StatusInternalServerError, "InternalServerError")
	case throttled:
		say(http.StatusBadRequest, "ThrottlingException")
	case denied:
		say(http.StatusBadRequest, "AccessDeniedException")
	case invalidRequest:
		say(http.StatusBadRequest, "ValidationException")
	case cutOff:
		panic(http.ErrAbortHandler)
	default:
		r.Body = readCloser{&body}
		answer := httptest.NewRecorder()
		s.Handler.ServeHTTP(answer, r)
		text := answer.Body.Bytes()
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		switch f {
		case noBody:
			w.Header().Del("X-Amz-Crc32")
			w.Header().Del("Content-Length")
			text = nil
		case halfAnAnswer:
			w.Header().Del("X-Amz-Crc32")
			w.Header().Set("Content-Length", fmt.Sprint(len(text)/2))
			text = text[:len(text)/2]
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(text)
	}
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// some makes every n-th call of the operations a fault of one kind after another.
func some(n int, operations ...string) func(string, []byte) fault {
	var calls atomic.Int64
	return func(operation string, _ []byte) fault {
		for _, o := range operations {
			if o == operation {
				if c := int(calls.Add(1)); c%n == 0 {
					return []fault{internalError, throttled, halfAnAnswer, cutOff}[c/n%4]
				}
			}
		}
		return sound
	}
}

// failingSaves makes the first saves of the segment's position fail.
func failingSaves(n int64) func(string, []byte) fault {
	var calls atomic.Int64
	return func(operation string, body []byte) fault {
		if operation == "UpdateItem" && bytes.Contains(body, []byte("0-of-1")) && bytes.Contains(body, []byte("position")) && calls.Add(1) <= n {
			return internalError
		}
		return sound
	}
}

// all makes every call of the operation this fault.
func all(f fault, operation string) func(string, []byte) fault {
	return func(o string, _ []byte) fault {
		if o == operation {
			return f
		}
		return sound
	}
}

// badRow saves a segment's position that no version writes.
func badRow(t *testing.T, s *streamtest.Service, pipeline, table string) {
	t.Helper()
	ctx := t.Context()
	if err := dynamostore.EnsureTable(ctx, s.Dynamo(), table); err != nil {
		t.Fatal(err)
	}
	store := dynamostore.New(s.Dynamo(), table)
	for partition, position := range map[string]string{
		"backfill/1/plan":           `{"version":1,"segments":1,"start_time":"` + time.Now().UTC().Format(time.RFC3339) + `"}`,
		"backfill/1/segment/0-of-1": `{ "id": {"S":"` + secrets[3] + `-1"} }`,
	} {
		cp, err := store.Claim(ctx, checkpoint.Key{Pipeline: pipeline, Partition: partition}, "test")
		if err != nil {
			t.Fatal(err)
		}
		cp.Position, cp.Complete, cp.Revision = position, strings.HasSuffix(partition, "/plan"), 1
		if err := store.Save(ctx, cp); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStderrTellsNoSecret runs the program itself through the troubles that make
// it talk.
func TestStderrTellsNoSecret(t *testing.T) {
	secretEnv(t)
	for _, tc := range []struct {
		name    string
		trouble func(*troubled, *streamtest.Service)
		until   string // what it says before it is stopped; empty: it ends by itself
	}{
		{"all is well", func(*troubled, *streamtest.Service) {}, "changes"},
		{"calls fail now and then", func(w *troubled, _ *streamtest.Service) {
			w.set(some(4, "Scan", "GetRecords", "GetShardIterator"))
		}, "changes"},
		{"saves fail", func(w *troubled, _ *streamtest.Service) { w.set(failingSaves(5)) }, "saving the progress"},
		{"the scan is denied", func(w *troubled, _ *streamtest.Service) { w.set(all(denied, "Scan")) }, ""},
		{"a row cannot be read", func(_ *troubled, s *streamtest.Service) { badRow(t, s, "p", "ackgate-checkpoints") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := serve(t, 0)
			for i := range 40 {
				putSecret(t, s, i)
			}
			s.Advance(time.Hour)
			way := &troubled{Handler: s}
			server := httptest.NewServer(way)
			t.Cleanup(server.Close)
			tc.trouble(way, s)
			out := filepath.Join(t.TempDir(), "orders.jsonl")
			p := launch(t, "-table", "orders", "-pipeline", "p", "-endpoint", server.URL, "-out", out, "-page-size", "3", "-segments", "1",
				"-commit-interval", "10ms", "-progress", "100ms", "-drain-timeout", "1s", "-discovery", "100ms")
			if tc.until != "" {
				n := 0
				p.until(t, "a change in the output", func() bool {
					if n++; n%20 == 0 { // slower than the scan, which reads what is new as well
						putSecret(t, s, 40+n)
					}
					text, _ := os.ReadFile(out)
					return bytes.Contains(text, []byte(jsonl.PhaseStream)) && strings.Contains(p.said(), tc.until)
				})
				p.signal(t, syscall.SIGTERM)
			}
			code := p.code(t)
			if p.said() == "" || (tc.until == "") != (code != exitOK) {
				t.Fatalf("exit %d, said %q", code, p.said())
			}
			tellsNoSecret(t, "stderr", p.said())
		})
	}
}

func TestEndpointWithAPasswordIsNotRepeated(t *testing.T) {
	var stderr bytes.Buffer
	code := Main([]string{"-table", "orders", "-pipeline", "p", "-endpoint", "http://me:" + secrets[2] + "@localhost:1"}, &stderr)
	if code != exitInput || !strings.Contains(stderr.String(), "a password") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	tellsNoSecret(t, "stderr", stderr.String())
}

// said is a log, of all packages together.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestLogsTellNoSecret gives every package a logger, which the program does
// not, and looks at all errors as well.
func TestLogsTellNoSecret(t *testing.T) {
	secretEnv(t)
	for _, tc := range []struct {
		name    string
		trouble func(*troubled, *streamtest.Service)
		logs    string // something that it must have logged, else the test saw nothing
		ends    string // what Read must have failed with, in the end
	}{
		{"reads fail now and then", func(w *troubled, _ *streamtest.Service) {
			w.set(some(5, "Scan", "GetRecords", "GetShardIterator", "DescribeStream"))
		}, "", ""},
		{"saves fail for a while", func(w *troubled, _ *streamtest.Service) {
			w.set(failingSaves(4))
		}, "saves fail and are repeated", ""},
		{"a page in the middle is refused", func(w *troubled, _ *streamtest.Service) {
			var pages atomic.Int64
			w.set(func(operation string, _ []byte) fault {
				if operation == "Scan" && pages.Add(1) > 3 {
					return invalidRequest
				}
				return sound
			})
		}, "", "tablescan: scan of table"},
		{"a row cannot be read", func(_ *troubled, s *streamtest.Service) { badRow(t, s, "p", "rows") }, "", checkpoint.ErrBadRow.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := serve(t, 0)
			for i := range 40 {
				putSecret(t, s, i)
			}
			s.Advance(time.Hour)
			way := &troubled{Handler: s}
			server := httptest.NewServer(way)
			t.Cleanup(server.Close)
			tc.trouble(way, s)
			var log said
			err := readAll(t, s, server.URL, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
			if !strings.Contains(log.String(), tc.logs) || tc.ends == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.ends) {
				t.Errorf("it logged\n%s\nand ended with %v", log.String(), err)
			}
			tellsNoSecret(t, "the log", log.String())
			if err != nil {
				tellsNoSecret(t, "the error", err.Error())
			}
		})
	}
}

// readAll is the program's wiring with loggers. It ends with the first error
// that is final, or nil once a change was delivered.
func readAll(t *testing.T, s *streamtest.Service, url string, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	o := Options{Table: "orders", Pipeline: "p", Endpoint: url, CheckpointTable: "rows"}
	source, err := openSource(ctx, o)
	if err != nil {
		return err
	}
	if err := dynamostore.EnsureTable(ctx, source.tables, o.CheckpointTable); err != nil {
		return err
	}
	committer := checkpoint.NewCommitter(dynamostore.New(source.tables, o.CheckpointTable), o.Pipeline,
		checkpoint.Interval(5*time.Millisecond), checkpoint.Logger(log))
	f := &feed{source: source}
	f.open = func(origin checkpoint.Origin) (*streamreader.Reader, error) {
		return streamreader.New(streamreader.Config{
			Client: source.streams, StreamARN: source.streamARN, Committer: committer, Origin: origin,
			Discovery: 100 * time.Millisecond, Poll: 10 * time.Millisecond, IdlePoll: 20 * time.Millisecond, Logger: log,
		})
	}
	quick := backfill.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}
	f.scan, err = tablescan.New(tablescan.Config{Client: source.tables, Table: o.Table, Segments: 1, Limit: 3, Retry: quick, Log: log})
	if err != nil {
		return err
	}
	runner, err := backfill.New[batch](f, backfill.Config{
		Committer: committer, Retention: 24 * time.Hour, StallAfter: time.Millisecond, Retry: quick, Log: log,
		Flush: func(context.Context) error { return nil },
	})
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		runner.Abort()
		closing, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		_ = errors.Join(runner.Close(closing), committer.Close(closing))
	}()
	go func() { // changes, as long as somebody reads
		for n := 40; ctx.Err() == nil; n++ {
			_, _ = s.Put("orders", streamtest.Item{"id": text(fmt.Sprintf("%s-%d", secrets[3], n)), "diagnosis": text(secrets[4])})
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	for failures := 0; ; {
		b, ack, err := runner.Read(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return fmt.Errorf("no change came: %w", err)
		case final(err) || strings.Contains(err.Error(), "ValidationException"):
			return err
		default:
			tellsNoSecret(t, "an error that was not final", err.Error())
			if failures++; failures > 20 {
				return fmt.Errorf("it fails for ever: %w", err)
			}
			continue
		}
		settled := make(chan error, 1)
		go func() { // a slow sink, so that stalls are reported
			time.Sleep(5 * time.Millisecond)
			settled <- ack(ctx, nil)
		}()
		if err := <-settled; err != nil {
			return err
		}
		if b.phase == jsonl.PhaseStream {
			return nil
		}
	}
}
