//go:build integration

package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// row is what a row of the checkpoint table says, decoded here and not by the library.
type row struct {
	partition, position string
	fence, revision     uint64
	complete            bool
}

// The kinds of rows that say something was delivered.
func (r row) done() bool {
	return strings.HasPrefix(r.partition, "backfill/") && strings.HasSuffix(r.partition, "/done")
}
func (r row) stream() bool { return strings.HasPrefix(r.partition, "stream/") }

// segment is the "2-of-4" of a segment's row, empty for other rows.
func (r row) segment() string {
	_, segment, _ := strings.Cut(r.partition, "/segment/")
	return segment
}

// observation is a row as it stood, and how far the output reached right after.
type observation struct {
	row
	end int64
}

// watcher keeps every state of the rows that it gets to see.
type watcher struct {
	client *dynamodb.Client
	output string

	mu       sync.Mutex
	seen     map[string]row
	observed []observation
}

const lookEvery = 50 * time.Millisecond

// run looks until ctx ends.
func (w *watcher) run(ctx context.Context) error {
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// look reads the rows, and only then how far the output reaches: what is
// delivered in between makes a row look better than it was, never worse.
func (w *watcher) look(ctx context.Context) error {
	pages := dynamodb.NewQueryPaginator(w.client, &dynamodb.QueryInput{
		TableName: aws.String(checkpointTable), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pipeline = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: pipeline}},
	})
	var changed []row
	w.mu.Lock()
	defer w.mu.Unlock()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		var missing *types.ResourceNotFoundException
		if errors.As(err, &missing) {
			return nil // the program has not made the table yet
		}
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			r, err := rowOf(it)
			if err != nil {
				return err
			}
			if w.seen[r.partition] != r {
				w.seen[r.partition] = r
				changed = append(changed, r)
			}
		}
	}
	var end int64
	if info, err := os.Stat(w.output); err == nil {
		end = info.Size()
	}
	for _, r := range changed {
		w.observed = append(w.observed, observation{r, end})
	}
	return nil
}

func rowOf(it map[string]types.AttributeValue) (row, error) {
	r := row{partition: text(it["partition"]), position: text(it["position"])}
	if c, ok := it["complete"].(*types.AttributeValueMemberBOOL); ok {
		r.complete = c.Value
	}
	var err error
	for name, into := range map[string]*uint64{"fence": &r.fence, "revision": &r.revision} {
		if digits := text(it[name]); digits != "" && err == nil {
			*into, err = strconv.ParseUint(digits, 10, 64)
		}
	}
	return r, err
}

// state is what the rows say now: the backfill's plan stands, its marker stands.
func (w *watcher) state() (planned, streaming bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.seen {
		planned = planned || strings.HasSuffix(r.partition, "/plan") && r.complete
		streaming = streaming || r.done() && r.complete
	}
	return planned, streaming
}

func (w *watcher) history() []observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observed[:len(w.observed):len(w.observed)]
}
