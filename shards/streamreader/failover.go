package streamreader

import (
	"context"
	"strings"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// lowWatermark is the row beside a stream's shards that says in time how far
// all of them are settled: what another region's stream, with other shards and
// other sequence numbers, can be resumed by. The minimum over the shards' own
// rows would not do: a shard without a row has no say in it.
const lowWatermark = "low-watermark"

// secondCodec keeps an instant in whole seconds, as records are dated.
type secondCodec struct{}

func (secondCodec) Encode(t time.Time) (string, error) {
	return t.UTC().Truncate(time.Second).Format(time.RFC3339), nil
}

func (secondCodec) Decode(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }

// latestLow is the newest low watermark of other regions' streams; zero if
// there is none, and then nothing is left out.
func latestLow(rows []checkpoint.Checkpoint) (time.Time, error) {
	var low time.Time
	for _, row := range rows {
		if !strings.HasSuffix(row.Partition, "/"+lowWatermark) || row.Position == "" {
			continue
		}
		t, err := secondCodec{}.Decode(row.Position)
		if err != nil {
			return time.Time{}, err
		}
		if t.After(low) {
			low = t
		}
	}
	return low, nil
}

// raiseLow makes the low watermark durable when it moved, behind a listing that
// began then. A failure only delays it.
func (r *Reader) raiseLow(ctx context.Context, began time.Time) error {
	if r.cfg.Failover == nil {
		return nil
	}
	low := r.lowest(began)
	if !low.After(r.low.at) {
		return nil
	}
	if r.low.part == nil {
		part, resumed, err := checkpoint.Open(ctx, r.cfg.Committer, r.prefix+lowWatermark, secondCodec{})
		if err != nil {
			r.listFailed(err)
			return ctx.Err()
		}
		r.low.part, r.low.at = part, resumed.Position
		if !low.After(r.low.at) {
			return nil
		}
	}
	t, err := r.low.part.TrackAt(ctx, low, low, 1)
	if err != nil {
		return err
	}
	t.Ack()
	r.low.at = low
	return nil
}

// lowest is the time before which every record is settled and durably so. Of the
// last minute before the listing that is never said: a shard that was opened in it
// may be in no listing yet.
func (r *Reader) lowest(began time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	low := began.Add(-unlistedFor)
	for _, id := range r.lineage.Undone() {
		t := r.owedSinceLocked(id)
		if s := r.shards[id]; s != nil {
			if d := s.durableTimeLocked(); !d.IsZero() {
				t = d
			}
		}
		if t.Before(low) {
			low = t
		}
	}
	return low.Truncate(time.Second)
}

// settledElsewhere reports whether whatever can have been trimmed by now was
// settled in another region.
func (r *Reader) settledElsewhere() bool {
	return !r.cutoff.IsZero() && r.cutoff.Add(-r.margin()).After(r.cfg.Now().Add(-r.cfg.Retention))
}

// younger reports a stream that was made after the time from which on its records
// are owed: it is no older replica's, and what was written before it is in none.
func (r *Reader) younger(created time.Time) error {
	if !r.elsewhere {
		return nil
	}
	r.elsewhere = false
	since := r.began
	if r.cutoff.After(since) {
		since = r.cutoff
	}
	if since.IsZero() || !created.Truncate(time.Second).After(since) {
		return nil
	}
	return r.gap(shards.Gap{AfterTime: since, Gone: true})
}
