package tablescan

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// torn cuts every third answer of a Scan in its middle, as a connection that is
// lost while a page arrives does.
type torn struct {
	http.RoundTripper
	scans, cuts int
}

func (c *torn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err != nil || r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.Scan" {
		return resp, err
	}
	if c.scans++; c.scans%3 != 0 {
		return resp, nil
	}
	c.cuts++
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text[:len(text)/2]), broken{}))
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The SDK does not repeat what failed while the answer was read, and its error
// carries the status 200.
func TestHalfAnAnswerIsReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		table, seen := fill(t, "S", 40), map[string]int{}
		cfg := table.AWSConfig()
		wire := &torn{RoundTripper: table}
		cfg.HTTPClient = &http.Client{Transport: wire}
		client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		s := start(t, checkpoint.NewMemory(), Config{Client: client, Limit: 5}, &backfill.Plan{})
		s.all(seen)
		require.Len(t, seen, 40)
		require.Positive(t, wire.cuts)
		s.end()
	})
}
