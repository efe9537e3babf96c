package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
)

// watcher records every state of the checkpoint rows that it gets to see.
type watcher struct {
	store    checkpoint.Store
	pipeline string
	output   string

	mu       sync.Mutex
	seen     map[string]checkpoint.Checkpoint
	observed []observation
	done     bool      // the backfill's marker stands
	origin   time.Time // of the backfill's plan: from here on the stream owes every change
	err      error
}

// look reads the rows, and only then how far the output reaches: a line that is
// delivered in between makes a row look better than it was, never worse.
func (w *watcher) look(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var changed []checkpoint.Checkpoint
	for row, err := range w.store.List(ctx, w.pipeline, "") {
		var missing *types.ResourceNotFoundException
		if errors.As(err, &missing) {
			return nil // the pipeline has not made the table yet
		}
		if err != nil {
			return err
		}
		if w.seen[row.Partition] == row {
			continue
		}
		w.seen[row.Partition] = row
		changed = append(changed, row)
		w.done = w.done || doneRow(row.Partition) && row.Complete
		if err := w.plan(row); err != nil {
			return err
		}
	}
	var end int64
	if info, err := os.Stat(w.output); err == nil {
		end = info.Size()
	}
	for _, row := range changed {
		w.observed = append(w.observed, observation{row, end})
	}
	return nil
}

// plan takes the start time out of the backfill's plan.
func (w *watcher) plan(row checkpoint.Checkpoint) error {
	if !strings.HasPrefix(row.Partition, backfillRows) || !strings.HasSuffix(row.Partition, "/plan") || row.Position == "" {
		return nil
	}
	var plan struct {
		StartTime time.Time `json:"start_time"`
	}
	if err := json.Unmarshal([]byte(row.Position), &plan); err != nil || plan.StartTime.IsZero() {
		return fmt.Errorf("the backfill's plan %q has no start time (%v)", row.Position, err)
	}
	w.origin = plan.StartTime.Truncate(time.Second)
	return nil
}

// lookEvery is quicker than the pipeline commits.
const lookEvery = 5 * time.Millisecond

// run looks again and again until ctx ends.
func (w *watcher) run(ctx context.Context) error {
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// count is how many states of rows were seen.
func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.observed)
}

// streaming reports whether the backfill is over, and when it began.
func (w *watcher) state() (streaming bool, origin time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done, w.origin, w.err
}
