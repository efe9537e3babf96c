package cdc

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/examples/internal/jsonl"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// refused runs ddbcdc and demands exit code 2 and one line that says this.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	code := Main(args, &stderr)
	if text := stderr.String(); code != exitInput || !strings.Contains(text, says) || strings.Count(text, "\n") != 1 || !strings.Contains(text, ": ") {
		t.Errorf("ddbcdc %s: exit %d and\n%swant exit %d and one line with %q", strings.Join(args, " "), code, text, exitInput, says)
	}
}

func TestInputFaults(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 0)
	on := func(table string, more ...string) []string {
		return append([]string{"-table", table, "-pipeline", "p", "-endpoint", url}, more...)
	}

	refused(t, "there is no table nowhere at "+url+": check -table", on("nowhere")...)
	refused(t, "table silent has no stream: enable it with: aws dynamodb update-table --table-name silent", on("silent")...)
	refused(t, "does not answer", "-table", "orders", "-pipeline", "p", "-endpoint", "http://127.0.0.1:1")

	refused(t, "cannot be written", on("orders", "-out", t.TempDir())...)
	refused(t, "cannot be written", on("orders", "-out", filepath.Join(t.TempDir(), "no", "such", "folder"))...)
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(foreign, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "name another file", on("orders", "-out", foreign)...)
	used := filepath.Join(t.TempDir(), "used.jsonl")
	other, err := jsonl.Open(used)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	refused(t, "another process is writing this file", on("orders", "-out", used)...)

	if err := s.DisableStream("returns"); err != nil {
		t.Fatal(err)
	}
	refused(t, "table returns has no stream", on("returns")...)
	refused(t, "cannot keep progress", on("orders", "-checkpoint-table", "silent")...)
}

func TestCredentialFaults(t *testing.T) {
	awsEnv(t)
	_, url := serve(t, 0)
	os.Unsetenv("AWS_ACCESS_KEY_ID")
	refused(t, "no AWS credentials were found: set AWS_ACCESS_KEY_ID", "-table", "orders", "-pipeline", "p", "-endpoint", url)
	os.Setenv("AWS_ACCESS_KEY_ID", "test")
	os.Unsetenv("AWS_REGION")
	refused(t, "no AWS region is set: give -region", "-table", "orders", "-pipeline", "p")

	for code, says := range map[string]string{
		"UnrecognizedClientException": "the credentials are refused (UnrecognizedClientException): check",
		"ExpiredTokenException":       "the credentials have expired: renew",
		"AccessDeniedException":       "the credentials lack a right (not you): allow",
	} {
		aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#` + code + `","message":"not you"}`))
		}))
		refused(t, says, "-table", "orders", "-pipeline", "p", "-endpoint", aws.URL)
		aws.Close()
	}
}

// TestRightsThatFailLater: the table may be described, but not scanned, or its
// stream not read.
func TestRightsThatFailLater(t *testing.T) {
	awsEnv(t)
	s, _ := serve(t, 10)
	for _, action := range []string{"DynamoDB_20120810.Scan", "DynamoDBStreams_20120810.DescribeStream", "DynamoDB_20120810.CreateTable"} {
		aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Target") == action {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized to perform: ` + action + `"}`))
				return
			}
			s.ServeHTTP(w, r)
		}))
		refused(t, "the credentials lack a right (not authorized to perform: "+action+"): allow",
			"-table", "orders", "-pipeline", "without "+action, "-endpoint", aws.URL, "-out", filepath.Join(t.TempDir(), "o"),
			"-checkpoint-table", "checkpoints-"+strings.ToLower(action), "-backfill="+fmt.Sprint(action != "DynamoDBStreams_20120810.DescribeStream"), "-drain-timeout", "1s")
		aws.Close()
	}
}

func TestPipelineFaults(t *testing.T) {
	awsEnv(t)
	s, url := serve(t, 0)
	ctx := context.Background()
	const table = "ackgate-checkpoints"
	if err := dynamostore.EnsureTable(ctx, s.Dynamo(), table); err != nil {
		t.Fatal(err)
	}
	store := dynamostore.New(s.Dynamo(), table)
	save := func(pipeline, partition, position string) {
		t.Helper()
		cp, err := store.Claim(ctx, checkpoint.Key{Pipeline: pipeline, Partition: partition}, "test")
		if err != nil {
			t.Fatal(err)
		}
		cp.Position, cp.Complete, cp.Revision = position, true, 1
		if err := store.Save(ctx, cp); err != nil {
			t.Fatal(err)
		}
	}
	run := func(pipeline string, more ...string) []string {
		return append([]string{"-table", "orders", "-pipeline", pipeline, "-endpoint", url, "-out", filepath.Join(t.TempDir(), "o")}, more...)
	}

	save("unreadable-plan", "backfill/1/plan", "{not JSON")
	refused(t, "a checkpoint row of pipeline unreadable-plan in table ackgate-checkpoints cannot be read", run("unreadable-plan")...)

	_, stream, _ := strings.Cut(s.StreamARN("orders"), "/stream/")
	shard := s.Shards("orders")[0].ID
	cp, err := store.Claim(ctx, checkpoint.Key{Pipeline: "unreadable-shard", Partition: "stream/" + stream + "/" + shard}, "test")
	if err != nil {
		t.Fatal(err)
	}
	cp.Position, cp.Revision = "12x", 1
	if err := store.Save(ctx, cp); err != nil {
		t.Fatal(err)
	}
	refused(t, "a checkpoint row of pipeline unreadable-shard in table ackgate-checkpoints cannot be read", run("unreadable-shard", "-backfill=false", "-progress", "1m")...)

	save("halfway", "backfill/1/plan", `{"version":1,"segments":2,"start_time":"2026-12-01T00:00:00Z"}`)
	refused(t, "pipeline halfway has an unfinished backfill (generation 1): let it finish", run("halfway", "-backfill=false")...)

	if _, _, err := checkpoint.Begin(ctx, store, "of-returns", checkpoint.Origin{
		Start: checkpoint.StartTrimHorizon, Time: s.Time(), Source: s.StreamARN("returns"),
	}); err != nil {
		t.Fatal(err)
	}
	refused(t, "pipeline of-returns reads table returns, not orders: choose", run("of-returns")...)

	if _, _, err := checkpoint.Begin(ctx, store, "of-an-older-stream", checkpoint.Origin{
		Start: checkpoint.StartTrimHorizon, Time: s.Time(), Source: s.StreamARN("orders"),
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.DisableStream("orders"); err != nil {
		t.Fatal(err)
	}
	s.Advance(time.Second)
	if _, err := s.EnableStream("orders"); err != nil {
		t.Fatal(err)
	}
	refused(t, "pipeline of-an-older-stream began with the stream arn:", run("of-an-older-stream")...)

	later := streamtest.Item{"pipeline": text("of-tomorrow"), "partition": text("backfill/1/plan"), "schema": text("2")}
	if _, err := s.Put(table, later); err != nil {
		t.Fatal(err)
	}
	refused(t, "a checkpoint row of pipeline of-tomorrow in table ackgate-checkpoints cannot be read", run("of-tomorrow")...)
}
