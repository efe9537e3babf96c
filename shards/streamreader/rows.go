package streamreader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// forget deletes the checkpoints that nothing needs any more. That a shard was
// left out of two listings is no proof that it left the stream, and a row deleted
// too early would have the shard read again: so the service is asked.
func (r *Reader) forget(ctx context.Context) error {
	r.mu.Lock()
	for id, s := range r.shards {
		if s.hasPositionLocked() {
			r.lineage.Durable(id)
		}
	}
	ids := r.lineage.Forgettable()
	r.mu.Unlock()
	for _, id := range ids {
		if err := r.ask(ctx, id); ctx.Err() != nil {
			return ctx.Err()
		} else if shards.Classify(shards.GetShardIterator, code(err)) != shards.GapGone {
			continue
		}
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
		if id == lowWatermark {
			continue
		}
		r.lineage.Restore(id, row.Complete, isPosition(row.Position))
		if row.Complete {
			if t := row.EventTime; !t.IsZero() {
				r.ended[id] = t
			} else if isPosition(row.Position) { // a service that does not date its records
				r.ended[id] = row.UpdatedAt
			}
		} else {
			r.rows[id] = row
		}
	}
	r.mu.Unlock()
	source := r.cfg.Origin.Source
	replaced := len(other) > 0 || source != "" && source != r.cfg.StreamARN
	if replaced && r.cfg.Failover != nil {
		low, err := latestLow(other)
		if err != nil {
			return fmt.Errorf("%w: a low watermark of another region: %w", ErrTerminal, err)
		}
		r.elsewhere = own == 0
		r.mu.Lock()
		r.cutoff = low
		r.mu.Unlock()
		return nil
	}
	if !replaced || own > 0 {
		// Rows of this stream mean that an earlier run took note already.
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
