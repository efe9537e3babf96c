package streamreader

import (
	"time"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

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
		end = s.openedAt
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
