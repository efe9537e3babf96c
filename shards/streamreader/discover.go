package streamreader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
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
		if err == nil && out.StreamDescription == nil {
			err = errors.New("the answer has no description")
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
		added += r.observe(out.StreamDescription.Shards)
		status = out.StreamDescription.StreamStatus
		// Only the missing cursor ends the listing: a page may be empty.
		if cursor = out.StreamDescription.LastEvaluatedShardId; cursor == nil {
			r.listed()
			return added, status, nil
		}
	}
}

// observe takes in one page, and starts what became ready.
func (r *Reader) observe(page []types.Shard) int {
	list := make([]shards.Shard, 0, len(page))
	for _, sh := range page {
		if aws.ToString(sh.ShardId) == "" {
			continue
		}
		s := shards.Shard{ID: *sh.ShardId}
		if p := aws.ToString(sh.ParentShardId); p != "" {
			s.Parents = []string{p}
		}
		if rng := sh.SequenceNumberRange; rng != nil {
			s.Closed = rng.EndingSequenceNumber != nil
			s.First, _ = shards.ParseSequenceNumber(aws.ToString(rng.StartingSequenceNumber))
			s.Last, _ = shards.ParseSequenceNumber(aws.ToString(rng.EndingSequenceNumber))
		}
		list = append(list, s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disc.pages++
	r.disc.progress = r.cfg.Now()
	r.disc.lastErr = nil
	added := r.lineage.Observe(list...)
	if r.fresh {
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

// startLocked starts a goroutine for every shard that became ready.
func (r *Reader) startLocked() {
	for _, id := range r.lineage.Take() {
		s := &shard{r: r, id: id, seat: newSeat(), fresh: r.fresh}
		if s.fresh {
			r.pending++
		}
		r.shards[id] = s
		r.spawn(s.run)
	}
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

func (r *Reader) positionedOne() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.positionedOneLocked()
}

func (r *Reader) positionedOneLocked() {
	if r.pending--; r.pending == 0 {
		close(r.positioned)
	}
}

// wasRead moves the lineage on when a shard's last page was handed out.
func (r *Reader) wasRead(s *shard) {
	end := s.lastTime
	if end.IsZero() {
		end = r.cfg.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[s.id] = end
	r.lineage.Read(s.id)
	r.startLocked()
	r.nudge()
}

// completed moves the lineage on when a shard's completion is durable.
func (r *Reader) completed(s *shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.doneAt[s.id]; !ok {
		r.doneAt[s.id] = r.cfg.Now()
	}
	delete(r.shards, s.id)
	delete(r.rows, s.id)
	r.lineage.Complete(s.id)
	r.startLocked()
	r.nudge()
}

func (r *Reader) nudge() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *Reader) allComplete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.lineage.Counts()
	return c.Waiting+c.Reading+c.Read == 0
}

func (r *Reader) isClosed(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lineage.Closed(id)
}

func (r *Reader) origin() shards.Origin {
	return shards.Origin{Latest: r.cfg.Origin.Start == checkpoint.StartLatest, Time: r.cfg.Origin.Time}
}

func (r *Reader) margin() time.Duration {
	if r.cfg.Failover == nil {
		return 0
	}
	return r.cfg.Failover.Margin
}

// owedSince is the time from which on a shard without a position may hold
// records that are owed: the last record of the earliest parent, or the origin.
func (r *Reader) owedSince(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	var since time.Time
	for _, p := range r.lineage.Parents(id) {
		if t, ok := r.ended[p]; ok && (since.IsZero() || t.Before(since)) {
			since = t
		}
	}
	if since.IsZero() || since.Before(r.cfg.Origin.Time) {
		since = r.cfg.Origin.Time
	}
	return since
}

// mayOwe reports whether a shard that is gone, unread, can have held records
// that are owed: whatever was trimmed is older than the retention.
func (r *Reader) mayOwe(id string) bool {
	since := r.owedSince(id)
	return !since.IsZero() && since.Before(r.cfg.Now().Add(-r.cfg.Retention))
}

// probe asks the service for each shard that a listing should have named.
func (r *Reader) probe(ctx context.Context) error {
	r.mu.Lock()
	missing := r.lineage.Missing()
	r.mu.Unlock()
	for _, id := range missing {
		_, err := call(ctx, r, getShardIterator(r.cfg.Client), &dynamodbstreams.GetShardIteratorInput{
			StreamArn:         &r.cfg.StreamARN,
			ShardId:           &id,
			ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			r.mu.Lock()
			r.lineage.Observe(shards.Shard{ID: id, Closed: true})
			r.startLocked()
			r.mu.Unlock()
		case shards.Classify(shards.GetShardIterator, code(err)) == shards.GapGone:
			if err := r.trimmed(ctx, id); err != nil {
				return err
			}
		default:
			r.listFailed(err) // asked again after the next listing
		}
	}
	return nil
}

// trimmed is for a shard that neither a listing nor a probe knows.
func (r *Reader) trimmed(ctx context.Context, id string) error {
	r.mu.Lock()
	row, found := r.rows[id]
	lost := found || r.cfg.Origin.Time.Before(r.cfg.Now().Add(-r.cfg.Retention)) && !r.cfg.Origin.Time.IsZero() &&
		!r.lineage.AnyChildDurable(id)
	r.mu.Unlock()
	if lost {
		g := shards.Gap{Shard: id, AfterTime: row.EventTime, Gone: true}
		if row.Position != "" {
			var err error
			if g.After, err = shards.ParseSequenceNumber(row.Position); err != nil {
				return fmt.Errorf("%w: checkpoint %s: %w", ErrTerminal, row.Key, err)
			}
		}
		if err := r.gap(g); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found {
		// Durably ended, so that the next start does not report it again.
		s := &shard{r: r, id: id, seat: newSeat()}
		r.shards[id] = s
		r.spawn(func(ctx context.Context) error {
			done, err := s.open(ctx)
			if err != nil || done {
				return err
			}
			return s.complete(ctx)
		})
		delete(r.rows, id)
	}
	r.lineage.Trimmed(id)
	r.startLocked()
	return nil
}

// forget deletes the checkpoints that nothing needs any more. They outlive the
// shard by half a retention, lest a listing that left it out was wrong.
func (r *Reader) forget(ctx context.Context) error {
	keep := r.cfg.Retention * 3 / 2
	now := r.cfg.Now()
	r.mu.Lock()
	for id, s := range r.shards {
		if s.hasPositionLocked() {
			r.lineage.Durable(id)
		}
	}
	ids := slices.DeleteFunc(r.lineage.Forgettable(), func(id string) bool {
		done, ok := r.doneAt[id]
		return ok && now.Sub(done) < keep
	})
	r.mu.Unlock()
	for _, id := range ids {
		err := r.cfg.Committer.Store().Delete(ctx, checkpoint.Key{Pipeline: r.cfg.Committer.Pipeline(), Partition: r.prefix + id})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.listFailed(err) // again after the next listing
			continue
		}
		r.mu.Lock()
		if r.lineage.Forget(id) {
			delete(r.ended, id)
			delete(r.doneAt, id)
		}
		r.mu.Unlock()
	}
	return nil
}

// loadRows reads the pipeline's checkpoints of this stream, and judges those of
// any other.
func (r *Reader) loadRows(ctx context.Context) error {
	var t trouble
	for {
		rows, err := r.listRows(ctx)
		if err == nil {
			return r.judge(rows)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, checkpoint.ErrBadRow) {
			return fmt.Errorf("%w: %w", ErrTerminal, err)
		}
		r.listFailed(err)
		if err := t.after(ctx, r, shards.DescribeStream, shards.BackOff, "the checkpoints", err); err != nil {
			return err
		}
	}
}

func (r *Reader) listRows(ctx context.Context) ([]checkpoint.Checkpoint, error) {
	var rows []checkpoint.Checkpoint
	for row, err := range r.cfg.Committer.Store().List(ctx, r.cfg.Committer.Pipeline(), "stream/") {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *Reader) judge(rows []checkpoint.Checkpoint) error {
	var other []checkpoint.Checkpoint
	own := 0
	r.mu.Lock()
	for _, row := range rows {
		id, ok := strings.CutPrefix(row.Partition, r.prefix)
		if !ok {
			other = append(other, row)
			continue
		}
		own++
		r.lineage.Restore(id, row.Complete, row.Position != "")
		if row.Complete {
			r.doneAt[id] = row.UpdatedAt
			if r.ended[id] = row.EventTime; row.EventTime.IsZero() {
				r.ended[id] = row.UpdatedAt
			}
		} else {
			r.rows[id] = row
		}
	}
	r.mu.Unlock()
	source := r.cfg.Origin.Source
	replaced := len(other) > 0 || source != "" && source != r.cfg.StreamARN
	if !replaced || own > 0 {
		// Rows of this stream mean that an earlier run took note already.
		return nil
	}
	if r.cfg.Failover != nil {
		r.mu.Lock()
		r.cutoff = cutoff(other, r.cfg.Origin.Time)
		r.mu.Unlock()
		return nil
	}
	g := shards.Gap{Gone: true}
	for _, row := range other {
		if row.EventTime.After(g.AfterTime) {
			g.AfterTime = row.EventTime
		}
	}
	return r.gap(g)
}
