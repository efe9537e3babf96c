package checkpoint

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ackgate/ackgate/tracker"
)

// At is a position with the source time of its record.
type At[P any] struct {
	Position P
	Time     time.Time
}

// Resumed is what Open found.
type Resumed[P any] struct {
	Position P
	OK       bool // Position is set: resume behind it
	Checkpoint
}

// Partition is one claimed partition: a tracker.Frontier whose progress is made
// durable. Track is called from one goroutine in read order, everything else
// from any.
type Partition[P any] struct {
	lane     *lane
	frontier *tracker.Frontier[At[P]]
	codec    Codec[P]

	mu        sync.Mutex
	durable   P
	durableOK bool
	pending   tracker.Snapshot[At[P]] // of the last draft
}

// Open claims the partition for c and decodes where it stands. The claim fences
// every earlier holder, in this process or another (C3). A row that codec
// cannot decode is an error that wraps ErrBadRow (C8). Open calls the store
// once: whether to repeat it after an error is the caller's decision.
//
// A partition that is complete comes back sealed and committed: Track fails
// with tracker.ErrSealed, Settled and Committed are closed.
func Open[P any](ctx context.Context, c *Committer, partition string, codec Codec[P]) (*Partition[P], Resumed[P], error) {
	key := Key{Pipeline: c.pipeline, Partition: partition}
	if err := key.Validate(); err != nil {
		return nil, Resumed[P]{}, fmt.Errorf("checkpoint: open: %w", err)
	}
	if c.isClosed() {
		return nil, Resumed[P]{}, ErrClosed // before the claim: it would fence somebody for nothing
	}
	row, err := c.store.Claim(ctx, key, NewOwner(c.cfg.owner))
	if err != nil {
		if ctx.Err() != nil {
			return nil, Resumed[P]{}, ctx.Err()
		}
		return nil, Resumed[P]{}, fmt.Errorf("checkpoint: claim %s: %w", key, err)
	}
	resumed := Resumed[P]{Checkpoint: row}
	if row.Position != "" {
		if resumed.Position, err = codec.Decode(row.Position); err != nil {
			return nil, Resumed[P]{}, fmt.Errorf("%w: %s: %w", ErrBadRow, key, err)
		}
		resumed.OK = true
	}

	p := &Partition[P]{codec: codec, durable: resumed.Position, durableOK: resumed.OK}
	l := &lane{
		c: c, key: key, src: p, index: -1,
		row: row, revision: row.Revision,
		committed: make(chan struct{}), lost: make(chan struct{}),
	}
	p.lane = l
	if c.cfg.hasty() || c.cfg.everyWeight > 0 {
		l.watched.Add(1)
	}
	p.frontier = tracker.New[At[P]](tracker.Config{Limit: c.cfg.limit, OnAdvance: l.advanced})
	if row.Complete {
		l.gone = true // nothing will ever be saved
		p.frontier.Seal()
		close(l.committed)
		return p, resumed, nil
	}
	if err := c.register(l); err != nil {
		return nil, Resumed[P]{}, err
	}
	return p, resumed, nil
}

// Track adds an item at pos, in read order, without a source time; it waits
// while over the Limit. See tracker.Frontier.
func (p *Partition[P]) Track(ctx context.Context, pos P, weight int64) (tracker.Ticket[At[P]], error) {
	return p.frontier.Track(ctx, At[P]{Position: pos}, weight)
}

// TrackAt is Track with the source time of the record, which rides beside the
// position into the row.
func (p *Partition[P]) TrackAt(ctx context.Context, pos P, eventTime time.Time, weight int64) (tracker.Ticket[At[P]], error) {
	return p.frontier.Track(ctx, At[P]{Position: pos, Time: eventTime}, weight)
}

// TryTrackAt is TrackAt that fails with tracker.ErrLimit instead of waiting.
func (p *Partition[P]) TryTrackAt(pos P, eventTime time.Time, weight int64) (tracker.Ticket[At[P]], error) {
	return p.frontier.TryTrack(At[P]{Position: pos, Time: eventTime}, weight)
}

// TrackHold adds an item that must settle, but that no position may rest on:
// the batches of a transaction before its last.
func (p *Partition[P]) TrackHold(ctx context.Context, weight int64) (tracker.Ticket[At[P]], error) {
	return p.frontier.TrackHold(ctx, weight)
}

// TrackAll tracks items in their order, all or none, and appends their tickets
// to into; see tracker.Frontier.
func (p *Partition[P]) TrackAll(ctx context.Context, items []tracker.Item[At[P]], into []tracker.Ticket[At[P]]) ([]tracker.Ticket[At[P]], error) {
	return p.frontier.TrackAll(ctx, items, into)
}

// Ack acks the ticket. With the option Sync it then waits until the frontier,
// as it stands after the ack, is durable: with acks in read order that covers
// the ticket, otherwise what is still outstanding before it comes later. An
// error after the ack means "delivered, but not yet durable": the save goes on.
// Without Sync it never waits. A stale ticket is ErrStale, or the error of the
// lost partition; nothing changed then. Ticket.Ack does the same without
// waiting and without an error.
func (p *Partition[P]) Ack(ctx context.Context, t tracker.Ticket[At[P]]) error {
	if !t.Ack() {
		if err := p.Err(); err != nil {
			return err
		}
		return ErrStale
	}
	if !p.lane.c.cfg.sync {
		return nil
	}
	return p.lane.c.flush(ctx, []*lane{p.lane})
}

// Seal says that no more items will be tracked. Once everything is settled the
// completion is saved; Committed tells when it is durable (C4). False: sealed
// or ended before, nothing changed.
func (p *Partition[P]) Seal() bool {
	p.lane.seal() // first: the last ack may come at once
	return p.frontier.Seal()
}

// Key is the partition's key.
func (p *Partition[P]) Key() Key { return p.lane.key }

// Committed is closed once completion is durable.
func (p *Partition[P]) Committed() <-chan struct{} { return p.lane.committed }

// Settled is closed once sealed and everything settled; that is not durable yet.
func (p *Partition[P]) Settled() <-chan struct{} { return p.frontier.Done() }

// Lost is closed when the partition ends before it was committed: fenced by a
// newer claim, released, abandoned or closed. Err tells which.
func (p *Partition[P]) Lost() <-chan struct{} { return p.lane.lost }

// Err is nil while the partition is held or committed, and then wraps
// ErrFenced, ErrReleased or ErrClosed.
func (p *Partition[P]) Err() error {
	p.lane.c.mu.Lock()
	defer p.lane.c.mu.Unlock()
	return p.lane.err
}

// Durable is the position that a restart would resume behind, as far as the
// store told us; false while there is none.
func (p *Partition[P]) Durable() (P, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.durable, p.durableOK
}

// Position is the frontier: what is settled but perhaps not durable. False
// while nothing is settled in this attempt.
func (p *Partition[P]) Position() (P, bool) {
	at, ok := p.frontier.Position()
	return at.Position, ok
}

// Release flushes what is settled and ends the partition, so that another
// process can open it and loses no progress. Acks count until it is about to
// return, later ones are stale. If ctx ends first the partition is abandoned,
// and the error says what is not durable.
func (p *Partition[P]) Release(ctx context.Context) error {
	c, l := p.lane.c, p.lane
	lanes := []*lane{l}
	err := c.flush(ctx, lanes)
	if err == nil {
		c.freeze(lanes)
		err = c.flush(ctx, lanes)
	}
	p.Abandon()
	return err
}

// Abandon ends the partition at once: outstanding tickets become stale and no
// save runs once it has returned. A save in flight is cancelled and awaited.
func (p *Partition[P]) Abandon() {
	c, l := p.lane.c, p.lane
	c.mu.Lock()
	c.dropLocked(l, ErrReleased)
	inStore := l.inStore
	c.mu.Unlock()
	if inStore != nil {
		<-inStore
	}
}

func (p *Partition[P]) version() uint64      { return p.frontier.Snapshot().Version }
func (p *Partition[P]) settledWeight() int64 { return p.frontier.Snapshot().Settled }
func (p *Partition[P]) outstanding() int     { return p.frontier.Stats().Outstanding }
func (p *Partition[P]) completed() bool      { return p.frontier.Snapshot().Complete }
func (p *Partition[P]) freeze()              { p.frontier.Abandon() }

func (p *Partition[P]) stats(s *PartitionStats) (oldest uint64) {
	t := p.frontier.Stats()
	s.Outstanding, s.OutstandingWeight, s.Waiting = t.Outstanding, t.OutstandingWeight, t.Waiting
	s.OldestNacked, s.Sealed = t.OldestNacked, t.Sealed
	s.Position = s.Durable
	if at, ok := p.frontier.Position(); ok {
		if position, err := p.codec.Encode(at.Position); err == nil {
			s.Position = position
		}
	}
	return t.Oldest
}

func (p *Partition[P]) draft() (draft, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.frontier.Snapshot()
	p.pending = s
	d := draft{version: s.Version, settled: s.Settled, complete: s.Complete}
	if !s.OK {
		return d, nil
	}
	position, err := p.codec.Encode(s.Position.Position)
	if err == nil && position == "" {
		err = errEmptyPosition
	}
	d.position, d.time = position, s.Position.Time
	return d, err
}

func (p *Partition[P]) persisted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending.OK {
		p.durable, p.durableOK = p.pending.Position.Position, true
	}
}
