package cdc

import (
	"fmt"
	"time"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// status gathers what a progress line shows.
func (p *pipeline) status() status {
	s := status{
		at: time.Now(), streaming: !p.o.Backfill || p.runner.Phase() == backfill.Streaming,
		rows: p.rows.Load(), estimate: p.source.estimate, changes: p.changes.Load(), inFlight: p.inFlight.Load(),
		lag: p.feed.lag(),
	}
	if stream := p.feed.stream.Load(); stream != nil && s.streaming {
		h := stream.Health()
		if n := len(h.Shards); n > 0 { // none: closed, or not discovered yet
			p.shards.Store(int64(n))
		}
		s.shards = int(p.shards.Load())
		if h.DiscoveryError != nil {
			s.trouble = "listing the shards fails: " + rootCause(h.DiscoveryError).Error()
		}
		for _, shard := range h.Shards {
			if shard.LastError != "" {
				s.trouble = "shard " + shard.ID + " fails: " + shard.LastError
			}
		}
	}
	if !s.streaming {
		progress := p.feed.scan.Progress()
		s.segments, s.segmentsDone = progress.Segments, progress.SegmentsDone
	}
	if failing := p.failing.Load(); failing != nil {
		s.trouble = *failing
	}
	return s
}

// hooks keep the last failure to save for the progress line.
func (p *pipeline) hooks() checkpoint.Hooks {
	return checkpoint.Hooks{
		Committed: func(checkpoint.Checkpoint) { p.failing.Store(nil) },
		CommitFailed: func(key checkpoint.Key, err error, tries int) {
			said := fmt.Sprintf("saving the progress of %s fails, %d times so far, and is tried again: %v", key.Partition, tries, rootCause(err))
			p.failing.Store(&said)
		},
	}
}
