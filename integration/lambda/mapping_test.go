//go:build integration

package lambda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/lambdaids/awsevents"
	"github.com/ackgate/ackgate/lambdaids/esmtest"
)

// HANDLED names the file to which the function appends what it handled.
const handledFile = "HANDLED"

// TestMain is also the function: ministack runs this test binary as a bootstrap.
func TestMain(m *testing.M) {
	path := os.Getenv(handledFile)
	if path == "" {
		os.Exit(m.Run())
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	lambda.Start(function(func(body string) { fmt.Fprintln(file, body) }).Handle)
}

// function refuses message 2, always.
func function(handled func(body string)) *awsevents.SQSHandler {
	return awsevents.SQS(func(_ context.Context, m *events.SQSMessage) error {
		handled(m.Body)
		if m.Body == "2" {
			return errors.New("refused")
		}
		return nil
	}, awsevents.SQSConfig{})
}

const (
	messages    = 6
	maxReceives = 3
)

// counts is how often each message was handled.
func counts(bodies []string) []int {
	n := make([]int, messages)
	for _, b := range bodies {
		i, err := strconv.Atoi(b)
		if err != nil || i >= messages {
			panic("handled " + b)
		}
		n[i]++
	}
	return n
}

// The same function, messages and receive limit under both mappings.
func TestQueuesAsUnderMinistack(t *testing.T) {
	server := startMinistack(t)
	group := func(i int) string { return fmt.Sprint(i % 2) }
	for _, tc := range []struct {
		name  string
		fifo  bool
		model []esmtest.Record
	}{
		{"orders", false, esmtest.SQSMessages(messages)},
		{"orders.fifo", true, esmtest.FIFOMessages(messages, group)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var mu sync.Mutex
			var modelHandled []string
			want, err := esmtest.Run(t.Context(), esmtest.Mapping{MaxAttempts: maxReceives}, tc.model,
				esmtest.JSON(function(func(body string) {
					mu.Lock()
					defer mu.Unlock()
					modelHandled = append(modelHandled, body)
				}).Handle))
			require.NoError(t, err)
			require.Contains(t, want.DeadLetters, 2)

			handled := filepath.Join(t.TempDir(), "handled")
			name := fmt.Sprintf("function-%t", tc.fifo)
			server.createFunction(t, name, map[string]string{handledFile: handled})
			fifo := map[string]string{}
			if tc.fifo {
				fifo["FifoQueue"] = "true"
			}
			letters := server.createQueue(t, "dead-"+tc.name, fifo)
			attributes := map[string]string{
				"VisibilityTimeout": "1",
				"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, letters.arn, maxReceives),
			}
			if tc.fifo {
				attributes["FifoQueue"] = "true"
			}
			q := server.createQueue(t, tc.name, attributes)
			for i := range messages {
				in := map[string]any{"QueueUrl": q.url, "MessageBody": strconv.Itoa(i)}
				if tc.fifo {
					in["MessageGroupId"], in["MessageDeduplicationId"] = group(i), strconv.Itoa(i)
				}
				server.sqs(t, "SendMessage", in, nil)
			}
			server.call(t, "lambda", "", "/2015-03-31/event-source-mappings", map[string]any{
				"EventSourceArn": q.arn, "FunctionName": name, "BatchSize": 10,
				"FunctionResponseTypes": []string{"ReportBatchItemFailures"},
			}, nil)

			require.Eventually(t, func() bool { return server.waiting(t, q) == 0 }, time.Minute, 100*time.Millisecond)
			var got struct{ Messages []struct{ Body string } }
			server.sqs(t, "ReceiveMessage", map[string]any{"QueueUrl": letters.url, "MaxNumberOfMessages": 10}, &got)
			var dead []int
			for _, m := range got.Messages {
				dead = append(dead, number(m.Body))
			}
			slices.Sort(dead)
			require.Equal(t, want.DeadLetters, dead)
			text, err := os.ReadFile(handled)
			require.NoError(t, err)
			var bodies []string
			for line := range bytes.Lines(text) {
				bodies = append(bodies, string(bytes.TrimSpace(line)))
			}
			require.Equal(t, counts(modelHandled), counts(bodies))
			if !t.Failed() {
				fmt.Printf("mapping ministack queue %s: handled %v, dead letters %v, as in esmtest\n", tc.name, counts(bodies), dead)
			}
		})
	}
}

func number(body string) int {
	i, err := strconv.Atoi(body)
	if err != nil {
		panic(err)
	}
	return i
}
