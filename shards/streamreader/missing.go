package streamreader

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards"
)

// owedSince is the time from which on a shard without a position may hold
// records that are owed: the last record of the earliest parent, or the origin.
func (r *Reader) owedSince(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owedSinceLocked(id)
}

// emptySince is what a shard is younger than whose parent, this one, turns out to
// hold nothing: now, if the parent is still open. If it is closed, what it held may
// be trimmed, and its children may be as old as it is.
func (r *Reader) emptySince(id string) time.Time {
	if r.isClosed(id) {
		if since := r.owedSince(id); !since.IsZero() {
			return since
		}
	}
	return r.cfg.Now()
}

func (r *Reader) owedSinceLocked(id string) time.Time {
	var since time.Time
	for _, p := range r.lineage.Parents(id) {
		if t, ok := r.ended[p]; ok && (since.IsZero() || t.Before(since)) {
			since = t
		}
	}
	if since.IsZero() || since.Before(r.cfg.Origin.Time) {
		since = r.cfg.Origin.Time
	}
	if !since.IsZero() && since.Before(r.created) {
		since = r.created
	}
	if c := r.cutoff.Add(-r.margin()); !r.cutoff.IsZero() && c.After(since) {
		since = c
	}
	return since
}

// mayOwe reports whether a shard that is gone, unread, can have held records
// that are owed: whatever was trimmed is older than the retention.
func (r *Reader) mayOwe(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mayOweLocked(id)
}

func (r *Reader) mayOweLocked(id string) bool {
	since := r.owedSinceLocked(id)
	return !since.IsZero() && since.Before(r.cfg.Now().Add(-r.cfg.Retention))
}

// probes is how many shards are asked for at once: after a long time away each
// line of the stream has a parent that is gone.
const probes = 16

// unlistedFor is how long a shard that exists may be left out of the listings
// before it counts as one without a parent. Listings catch up within seconds; the
// minute is for a shard that no listing ever names.
const unlistedFor = time.Minute

// probe asks the service for each shard that a listing should have named. That it
// exists says nothing of its parents, which only a listing names, and read too
// early it would overtake them: so it waits to be listed.
func (r *Reader) probe(ctx context.Context) error {
	r.mu.Lock()
	missing := r.lineage.Missing()
	r.mu.Unlock()
	answers := make([]error, len(missing))
	var asking sync.WaitGroup
	for i := range min(probes, len(missing)) {
		asking.Go(func() {
			for ; i < len(missing); i += probes {
				answers[i] = r.ask(ctx, missing[i])
			}
		})
	}
	asking.Wait()
	unlisted := make(map[string]time.Time)
	defer func() { r.unlisted = unlisted }()
	for i, id := range missing {
		err := answers[i]
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			since, ok := r.unlisted[id]
			if !ok {
				since = r.cfg.Now()
			}
			unlisted[id] = since
			if r.cfg.Now().Sub(since) < unlistedFor {
				continue // a row proves nothing either: it may be of a run in Relaxed order
			}
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

// ask asks the service for one shard by name.
func (r *Reader) ask(ctx context.Context, id string) error {
	_, err := call(ctx, r, getShardIterator(r.cfg.Client), &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &r.cfg.StreamARN,
		ShardId:           &id,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	return err
}

// trimmed is for a shard that neither a listing nor a probe knows.
func (r *Reader) trimmed(ctx context.Context, id string) error {
	r.mu.Lock()
	row, found := r.rows[id]
	lost := !r.settledElsewhere() && (found || r.mayOweLocked(id) && !r.lineage.AnyChildDurable(id))
	r.mu.Unlock()
	if lost {
		at, err := sequenceCodec{}.Decode(row.Position)
		if err != nil {
			return fmt.Errorf("%w: checkpoint %s: %w", ErrTerminal, row.Key, err)
		}
		g := shards.Gap{Shard: id, After: at.n, AfterTime: row.EventTime, Gone: true}
		if err := r.gap(g); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found {
		// Durably ended, so that the next start does not report it again. Its
		// children may be as old as it is.
		s := &shard{r: r, id: id, seat: newSeat(), openedAt: r.owedSinceLocked(id)}
		if r.ended[id] = row.EventTime; row.EventTime.IsZero() {
			r.ended[id] = s.openedAt
		}
		r.shards[id] = s
		r.spawn(func(ctx context.Context) error {
			done, err := s.open(ctx)
			if err != nil || done {
				return err
			}
			if err := s.vouch(ctx); err != nil {
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
