package streamreader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"

	"github.com/ackgate/ackgate/internal/jitter"
	"github.com/ackgate/ackgate/shards"
)

// call makes one call with a deadline of its own, within the rate of all calls.
func call[In, Out any](ctx context.Context, r *Reader, f func(context.Context, *In) (*Out, error), in *In) (*Out, error) {
	if err := wait(ctx, r.callRate); err != nil {
		return nil, err
	}
	cctx, cancel := context.WithTimeout(ctx, r.cfg.CallTimeout)
	defer cancel()
	out, err := f(cctx, in)
	if ctx.Err() != nil {
		return nil, ctx.Err() // our end, whatever the client made of it
	}
	if err == nil && out == nil {
		err = errors.New("the client returned neither an answer nor an error")
	}
	return out, err
}

// code is the service's name for an error, "" if it did not come from there.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// trouble counts the failures of one shard, or of the discovery, since its
// last success.
type trouble struct {
	failures int
	since    time.Time
	last     error
}

func (t *trouble) clear() { *t = trouble{} }

// after notes a failure and pauses; its error ends the reader or the shard.
func (t *trouble) after(ctx context.Context, r *Reader, op shards.Op, action shards.Action, what string, err error) error {
	now := r.cfg.Now()
	if t.failures == 0 {
		t.since = now
	}
	t.failures++
	t.last = err
	if action == shards.Terminal {
		return fmt.Errorf("%w: %v of %s: %w", ErrTerminal, op, what, err)
	}
	// The count as well: back-pressure may lie between two failures.
	if d := now.Sub(t.since); d > r.cfg.GiveUp && t.failures > 10 {
		return fmt.Errorf("%w: %v of %s, %d times in %v, last: %w", ErrGivenUp, op, what, t.failures, d, err)
	}
	base := 200 * time.Millisecond
	if action == shards.BackOff {
		base = time.Second
	}
	return pause(ctx, backoff(base, what, t.failures))
}

// backoff doubles up to half a minute, and takes a random part of that, so
// that the readers of a stream do not come back all at once.
func backoff(base time.Duration, what string, failures int) time.Duration {
	return jitter.Backoff(base, 30*time.Second, failures, jitter.Part(what, failures))
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
