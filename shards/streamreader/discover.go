package streamreader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards"
)

const (
	// freshFor bounds what a start at LATEST may leave out: a shard that
	// has no iterator by then starts at TRIM_HORIZON like any other.
	freshFor = time.Minute
	// eager is the shortest pause between two listings.
	eager = time.Second
	// pageOfShards is the most that one DescribeStream call returns.
	pageOfShards = 100
)

// discovery is what Health tells of it, and its failures.
type discovery struct {
	listings int       // full ones
	pages    int       // of all
	progress time.Time // last page
	failures int
	lastErr  error
}

// discover lists the stream until the reader ends.
func (r *Reader) discover(ctx context.Context) error {
	if err := r.loadRows(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	// Use it in any case: a Freshness is of the first discovery, whether or not
	// that had a use for it.
	r.fresh = r.cfg.Fresh != nil && r.cfg.Fresh.Use() && r.origin().Latest && r.cutoff.IsZero()
	r.freshUntil = r.cfg.Now().Add(freshFor)
	r.mu.Unlock()

	gap := eager
	for {
		began := r.cfg.Now()
		added, status, err := r.list(ctx)
		if err != nil {
			return err
		}
		if err := r.probe(ctx); err != nil {
			return err
		}
		if err := r.forget(ctx); err != nil {
			return err
		}
		// What is written behind the end of a stream is not in it.
		if status != types.StreamStatusDisabled && status != types.StreamStatusDisabling {
			if err := r.raiseLow(ctx, began); err != nil {
				return err
			}
		}
		if added == 0 && status == types.StreamStatusDisabled && r.allComplete() {
			return fmt.Errorf("%w: %s", ErrStreamEnded, r.cfg.StreamARN)
		}
		if added > 0 {
			gap = eager
		}
		kicked, err := r.rest(ctx, gap)
		if err != nil {
			return err
		}
		if gap = min(2*gap, r.cfg.Discovery); kicked {
			gap = eager
		}
	}
}

// rest pauses between listings: shortly while a shard's children are awaited.
func (r *Reader) rest(ctx context.Context, gap time.Duration) (kicked bool, _ error) {
	if err := pause(ctx, min(eager, r.cfg.Discovery)); err != nil {
		return false, err
	}
	d := r.cfg.Discovery
	r.mu.Lock()
	if len(r.lineage.Leaves()) > 0 || r.lineage.Held() > 0 {
		d = min(d, gap)
	}
	r.mu.Unlock()
	select {
	case <-r.kick: // with the timer due as well chance would decide
		return true, ctx.Err()
	default:
	}
	t := time.NewTimer(max(0, d-eager))
	defer t.Stop()
	select {
	case <-t.C:
		return false, ctx.Err()
	case <-r.kick:
		return true, ctx.Err()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// list reads the stream's description to its end. A page that fails is asked for
// again; the pages before it stay known, and their shards are being read.
func (r *Reader) list(ctx context.Context) (added int, status types.StreamStatus, _ error) {
	var cursor *string
	var t trouble
	r.mu.Lock()
	r.lineage.Begin()
	r.mu.Unlock()
	for {
		if err := wait(ctx, r.describe); err != nil {
			return added, "", err
		}
		out, err := call(ctx, r, describeStream(r.cfg.Client), &dynamodbstreams.DescribeStreamInput{
			StreamArn:             &r.cfg.StreamARN,
			ExclusiveStartShardId: cursor,
			Limit:                 aws.Int32(pageOfShards),
		})
		if ctx.Err() != nil {
			return added, "", ctx.Err()
		}
		if err == nil {
			if next := out.StreamDescription.LastEvaluatedShardId; next != nil && cursor != nil && *next == *cursor {
				err = errors.New("the answer does not move on from shard " + *next)
			}
		}
		if err != nil {
			r.listFailed(err)
			action := shards.Classify(shards.DescribeStream, code(err))
			if action == shards.StreamGone {
				if cursor == nil {
					return added, "", fmt.Errorf("%w: %s: %w", ErrStreamGone, r.cfg.StreamARN, err)
				}
				cursor, action = nil, shards.BackOff // the shard at the cursor may be gone: from the start
			}
			if err := t.after(ctx, r, shards.DescribeStream, action, "stream "+r.label, err); err != nil {
				return added, "", err
			}
			continue
		}
		t.clear()
		if err := r.younger(aws.ToTime(out.StreamDescription.CreationRequestDateTime)); err != nil {
			return added, "", err
		}
		added += r.observe(out.StreamDescription.Shards, aws.ToTime(out.StreamDescription.CreationRequestDateTime))
		status = out.StreamDescription.StreamStatus
		// Only the missing cursor ends the listing: a page may be empty.
		if cursor = out.StreamDescription.LastEvaluatedShardId; cursor == nil {
			r.listed()
			return added, status, nil
		}
	}
}

// observe takes in one page, and starts what became ready.
func (r *Reader) observe(page []types.Shard, created time.Time) int {
	list := make([]shards.Shard, 0, len(page))
	parents := make([]string, len(page))
	for i, sh := range page {
		if aws.ToString(sh.ShardId) == "" {
			continue
		}
		s := shards.Shard{ID: *sh.ShardId}
		if p := aws.ToString(sh.ParentShardId); p != "" {
			parents[i] = p
			s.Parents = parents[i : i+1 : i+1]
		}
		if rng := sh.SequenceNumberRange; rng != nil {
			if s.Closed = rng.EndingSequenceNumber != nil; s.Closed {
				s.Last, _ = shards.ParseSequenceNumber(*rng.EndingSequenceNumber)
			}
		}
		list = append(list, s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disc.pages++
	r.created = created
	r.disc.progress = r.cfg.Now()
	r.disc.lastErr = nil
	added := r.lineage.Observe(list...)
	if r.fresh && !r.cfg.ByTime { // by time, a closed shard is as good as an open one
		// What is closed now, or has a child now, holds nothing that a pipeline
		// starting at LATEST is owed.
		for _, s := range list {
			if s.Closed {
				r.lineage.Exclude(s.ID)
			}
			for _, p := range s.Parents {
				r.lineage.Exclude(p)
			}
		}
	}
	r.startLocked()
	return added
}

func (r *Reader) listFailed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disc.failures++
	r.disc.lastErr = err
}

// listed ends a full listing; the first one ends the freshness.
func (r *Reader) listed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lineage.End()
	r.disc.listings++
	r.fresh = false
	if r.disc.listings == 1 {
		r.positionedOneLocked()
	}
}
