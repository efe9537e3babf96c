package streamreader

import (
	"cmp"
	"slices"
	"time"

	"github.com/ackgate/ackgate/shards"
)

// The phases of a shard, as Health tells them.
const (
	phaseOpening uint32 = iota // claiming its checkpoint
	phaseReading
	phaseRead // waiting for the last acknowledgement, or for the store
)

// ShardHealth is one shard that is being read.
type ShardHealth struct {
	ID    string
	Phase string // opening, reading, read: its end was reached, acks or the store are awaited
	// LastRead is when the service last answered; zero: never.
	LastRead time.Time
	// LastEvent is the creation time of the last record handed out; zero: none.
	LastEvent time.Time
	// LastAck is when a batch was last acked; zero: never.
	LastAck time.Time
	// FailingSince is set while the shard's calls fail, without a success since.
	FailingSince time.Time
	LastError    string
	Records      int64 // handed out or skipped in this run
	InFlight     int64 // handed out, or about to be, and not settled
	Nacked       int64 // failed deliveries reported in this run
}

// Health is one instant of a Reader.
type Health struct {
	// Err is what ended the reader, nil while it runs.
	Err error
	// Listings of the whole stream that were completed, and pages of any.
	Listings, Pages int
	// Discovered is when a page of the stream's description was last read.
	Discovered time.Time
	// DiscoveryError is the last failure of the discovery without a page since.
	DiscoveryError error
	Lineage        shards.Counts
	InFlight       int64 // records not settled, over all shards
	InFlightBytes  int64
	Shards         []ShardHealth // being read, by ID
}

// Health tells where the reader stands. A readiness probe asks Stalled.
func (r *Reader) Health() Health {
	used := r.flight.load()
	h := Health{Err: r.Err(), InFlight: used.records, InFlightBytes: used.bytes}
	r.mu.Lock()
	h.Listings, h.Pages = r.disc.listings, r.disc.pages
	h.Discovered, h.DiscoveryError = r.disc.progress, r.disc.lastErr
	h.Lineage = r.lineage.Counts()
	active := make([]*shard, 0, len(r.shards))
	for _, s := range r.shards {
		active = append(active, s)
	}
	r.mu.Unlock()
	for _, s := range active {
		h.Shards = append(h.Shards, s.health())
	}
	slices.SortFunc(h.Shards, func(a, b ShardHealth) int { return cmp.Compare(a.ID, b.ID) })
	return h
}

// Stalled names the shards without an answer from the service for longer than
// limit, as of now, and is true as well when the reader ended or nothing was
// discovered for so long. started is when the reader was first asked to Read.
// A shard that waits for acks is not read, so it counts as stalled too: a
// pipeline that does not deliver is not ready.
// Take a limit of several times IdlePoll and Discovery, which are pauses.
func (h Health) Stalled(now, started time.Time, limit time.Duration) (ids []string, stalled bool) {
	late := func(t time.Time) bool {
		if t.Before(started) {
			t = started
		}
		return now.Sub(t) > limit
	}
	for _, s := range h.Shards {
		if late(s.LastRead) && (s.Phase != "read" || late(s.LastAck)) {
			ids = append(ids, s.ID)
		}
	}
	return ids, len(ids) > 0 || h.Err != nil || late(h.Discovered)
}

// Lag is how far the shard's last record is behind now; zero if it has none.
// An idle shard's lag grows without meaning that records wait.
func (s ShardHealth) Lag(now time.Time) time.Duration {
	if s.LastEvent.IsZero() {
		return 0
	}
	return now.Sub(s.LastEvent)
}

func (s *shard) health() ShardHealth {
	h := ShardHealth{
		ID:           s.id,
		Phase:        [...]string{"opening", "reading", "read"}[s.phase.Load()],
		LastRead:     at(s.readAt.Load()),
		LastEvent:    at(s.eventAt.Load()),
		LastAck:      at(s.ackedAt.Load()),
		FailingSince: at(s.failingAt.Load()),
		Records:      s.records.Load(),
		InFlight:     s.r.flight.held(s.seat).records,
		Nacked:       s.nacked.Load(),
	}
	if e := s.lastErr.Load(); e != nil {
		h.LastError = *e
	}
	return h
}

func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
