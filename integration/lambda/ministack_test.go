//go:build integration

package lambda_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const account = "000000000000"

// ministack is a running server.
type ministack struct{ url string }

func startMinistack(t *testing.T) *ministack {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "./install.sh").CombinedOutput()
	require.NoError(t, err, string(out))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())

	log, err := os.Create(filepath.Join(t.TempDir(), "ministack.log"))
	require.NoError(t, err)
	cmd := exec.Command(".venv/bin/python", "-m", "ministack")
	cmd.Env = append(os.Environ(), fmt.Sprint("GATEWAY_PORT=", port))
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends its functions
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("ministack:\n%s", text)
		}
	})
	s := &ministack{fmt.Sprintf("http://127.0.0.1:%d", port)}
	require.Eventually(t, func() bool {
		resp, err := http.Get(s.url + "/_ministack/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return true
	}, 90*time.Second, 100*time.Millisecond, "ministack does not answer")
	return s
}

// call sends one request of the SQS or the Lambda API; these are so few that no
// SDK is needed.
func (s *ministack) call(t require.TestingT, service, target, path string, in, out any) {
	body, err := json.Marshal(in)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	req.Header.Set("Content-Type", "application/json")
	if target != "" {
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", target)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s%s: %s", target, path, answer)
	if out != nil {
		require.NoError(t, json.Unmarshal(answer, out), "%s", answer)
	}
}

func (s *ministack) sqs(t require.TestingT, operation string, in, out any) {
	s.call(t, "sqs", "AmazonSQS."+operation, "/", in, out)
}

// createFunction deploys this test binary: see TestMain.
func (s *ministack) createFunction(t *testing.T, name string, env map[string]string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	var code bytes.Buffer
	z := zip.NewWriter(&code)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	require.NoError(t, err)
	_, err = w.Write(program)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	s.call(t, "lambda", "", "/2015-03-31/functions", map[string]any{
		"FunctionName": name, "Runtime": "provided.al2023", "Handler": "bootstrap", "Timeout": 30,
		"Role": "arn:aws:iam::" + account + ":role/function",
		"Code": map[string]any{"ZipFile": code.Bytes()}, "Environment": map[string]any{"Variables": env},
	}, nil)
}

type queue struct{ url, arn string }

func (s *ministack) createQueue(t *testing.T, name string, attributes map[string]string) queue {
	t.Helper()
	var created struct{ QueueUrl string }
	s.sqs(t, "CreateQueue", map[string]any{"QueueName": name, "Attributes": attributes}, &created)
	return queue{created.QueueUrl, "arn:aws:sqs:us-east-1:" + account + ":" + name}
}

// waiting is how many messages a queue holds, those in flight included.
func (s *ministack) waiting(t require.TestingT, q queue) int {
	var got struct{ Attributes map[string]string }
	s.sqs(t, "GetQueueAttributes", map[string]any{"QueueUrl": q.url, "AttributeNames": []string{"All"}}, &got)
	var visible, inFlight int
	fmt.Sscan(got.Attributes["ApproximateNumberOfMessages"], &visible)
	fmt.Sscan(got.Attributes["ApproximateNumberOfMessagesNotVisible"], &inFlight)
	return visible + inFlight
}
