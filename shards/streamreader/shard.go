package streamreader

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
)

// goneAfter is how many times in a row a shard must be unknown to the service
// before it counts as gone: what is only just listed may be unknown elsewhere.
const goneAfter = 3

// shard is one shard being read. All but the atomics belongs to its goroutine.
type shard struct {
	r     *Reader
	id    string
	fresh bool // taken by the first discovery of a fresh pipeline
	seat  *seat
	part  *checkpoint.Partition[position]

	resumedAt  time.Time // creation time of the record at checkpoint
	checkpoint shards.SequenceNumber
	last       shards.SequenceNumber // last read in this run
	lastTime   time.Time             // creation time of the record at last, or at checkpoint
	trimmed    bool
	ageing     bool       // closed, and started without a position: see overdue
	hole       shards.Gap // reported last, until the read behind it
	positioned bool
	openedAt   time.Time // its children's records are younger, even if it has none
	counted    bool      // its iterator is counted in Reader.pending
	gone       int
	iterator   string
	asked      time.Time // when the iterator was asked for
	start      shards.Start
	idle       time.Duration
	trouble    trouble

	// For Health.
	phase              atomic.Uint32
	readAt, eventAt    atomic.Int64 // unix nanoseconds, 0 never
	ackedAt, failingAt atomic.Int64
	records, nacked    atomic.Int64
	lastErr            atomic.Pointer[string]
}

// run reads the shard from its checkpoint to its end.
func (s *shard) run(ctx context.Context) error {
	done, err := s.open(ctx)
	if err != nil {
		return err
	}
	if done {
		s.r.completed(s)
		return nil
	}
	for end := false; !end; {
		if end, err = s.step(ctx); err != nil {
			return err
		}
	}
	// The last page was handed out above: only now may the shard end.
	s.phase.Store(phaseRead)
	s.r.wasRead(s)
	if err := s.vouch(ctx); err != nil {
		return err
	}
	return s.complete(ctx)
}

// vouch writes into the row of a shard that held nothing, or of which nothing is
// left, what its children are younger than: a completion alone would say that
// they are younger than itself, and what they lost would not be reported after a
// crash.
func (s *shard) vouch(ctx context.Context) error {
	if !s.lastTime.IsZero() || s.openedAt.IsZero() {
		return nil
	}
	pos := s.reached()
	if pos.IsZero() {
		s.r.mu.Lock()
		pos = s.r.lineage.Ending(s.id)
		s.r.mu.Unlock()
	}
	t, err := s.part.TrackAt(ctx, position{pos, s.openedAt}, s.openedAt, 1)
	switch {
	case err == nil:
		t.Discard()
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return s.lost()
}

// complete seals the partition and waits for the completion to be durable.
func (s *shard) complete(ctx context.Context) error {
	s.part.Seal()
	select {
	case <-s.part.Committed():
		s.r.completed(s)
		return nil
	case <-s.part.Lost():
		return s.lost()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open claims the partition. A store that is down delays the shard, no more.
func (s *shard) open(ctx context.Context) (done bool, err error) {
	var t trouble
	for {
		part, resumed, err := checkpoint.Open(ctx, s.r.cfg.Committer, s.r.prefix+s.id, sequenceCodec{})
		switch {
		case err == nil && resumed.Complete:
			part.Abandon()
			return true, nil
		case err == nil:
			s.setPart(part, resumed.EventTime)
			s.checkpoint, s.lastTime = resumed.Position.n, resumed.EventTime
			s.phase.Store(phaseReading)
			return false, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, checkpoint.ErrBadRow):
			return false, fmt.Errorf("%w: %w", ErrTerminal, err)
		}
		s.note(err)
		if err := t.after(ctx, s.r, shards.GetShardIterator, shards.BackOff, "the checkpoint of shard "+s.id, err); err != nil {
			return false, err
		}
	}
}

// step makes one call to the shard and hands out what it brought.
func (s *shard) step(ctx context.Context) (end bool, err error) {
	if err := s.pace(ctx); err != nil {
		return false, err
	}
	if err := s.r.flight.enter(ctx, s.seat); err != nil {
		return false, err
	}
	op, out, err := s.fetch(ctx)
	var p page
	if err == nil {
		p, err = s.sift(out.Records)
	}
	s.r.flight.leave(s.seat, p.weight)
	if errors.Is(err, errOurs) {
		return false, err
	}
	if err != nil {
		return s.failed(ctx, op, err)
	}
	s.succeeded()
	// Its age counts from here: handing the page out may take as long as the
	// caller likes.
	s.iterator, s.asked = aws.ToString(out.NextShardIterator), s.r.cfg.Now()
	if p.read > 0 || s.iterator == "" {
		if err := s.overdue(); err != nil {
			return false, err
		}
		s.ageing = false
		if err := s.widen(p.first, p.firstTime); err != nil {
			return false, err
		}
	}
	if err := s.deliver(ctx, p); err != nil {
		return false, err
	}
	switch {
	case p.read > 0:
		s.idle = 0
	case s.idle == 0:
		s.idle = s.r.cfg.Poll
	default:
		s.idle = min(s.idle*2, s.r.cfg.IdlePoll)
	}
	return s.iterator == "", nil
}

// pace waits for the shard's next turn.
func (s *shard) pace(ctx context.Context) error {
	d := max(s.r.cfg.Poll, s.idle)
	if s.r.isClosed(s.id) {
		d = s.r.cfg.Poll // it gets no more records, so a page without any is on the way to its end
	}
	if !s.positioned {
		d = 0
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.part.Lost():
		return s.lost()
	}
	return ctx.Err()
}

// fetch gets an iterator if there is none, or none young enough, and a page.
func (s *shard) fetch(ctx context.Context) (shards.Op, *dynamodbstreams.GetRecordsOutput, error) {
	cfg := &s.r.cfg
	if s.iterator == "" || cfg.Now().Sub(s.asked) > cfg.RenewAfter {
		if err := s.position(ctx); err != nil {
			return shards.GetShardIterator, nil, err
		}
	}
	out, err := call(ctx, s.r, getRecords(cfg.Client), &dynamodbstreams.GetRecordsInput{
		ShardIterator: &s.iterator,
		Limit:         &cfg.PageLimit,
	})
	return shards.GetRecords, out, err
}

// position asks for an iterator where Resolve says.
func (s *shard) position(ctx context.Context) error {
	start := shards.Resolve(s.evidence())
	if start.Kind == shards.TrimHorizon && !s.trimmed && !s.positioned {
		s.ageing = s.r.isClosed(s.id)
		if err := s.overdue(); err != nil {
			return ours(err)
		}
	}
	if !s.positioned {
		s.positioned, s.openedAt = true, s.r.emptySince(s.id)
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &s.r.cfg.StreamARN,
		ShardId:           &s.id,
		ShardIteratorType: types.ShardIteratorType(start.Kind.String()),
	}
	if start.Kind == shards.AfterSequenceNumber {
		in.SequenceNumber = aws.String(start.After.String())
	}
	if s.r.cfg.ByTime && start.Kind != shards.AfterSequenceNumber && !start.SkipBefore.IsZero() {
		in.ShardIteratorType, in.Timestamp = types.ShardIteratorTypeAtTimestamp, &start.SkipBefore
	}
	asked := s.r.cfg.Now()
	out, err := call(ctx, s.r, getShardIterator(s.r.cfg.Client), in)
	if err != nil {
		if s.fresh && start.Kind != shards.Latest {
			s.count()
		}
		return err
	}
	s.iterator, s.asked, s.start = *out.ShardIterator, asked, start
	s.count()
	return nil
}

// overdue reports, once, what a closed shard without a position may have lost. It is
// asked at its start and again when its first page is there: back-pressure may
// lie in between, and the horizon moves on.
func (s *shard) overdue() error {
	since := s.r.owedSince(s.id)
	if !s.ageing || !shards.Overdue(true, since, s.r.cfg.Now(), s.r.cfg.Retention) {
		return nil
	}
	s.ageing = false
	return s.r.gap(shards.Gap{Shard: s.id, AfterTime: since})
}

func (s *shard) evidence() shards.Evidence {
	return shards.Evidence{
		LastRead:   s.last,
		Checkpoint: s.checkpoint,
		Trimmed:    s.trimmed,
		Origin:     s.r.origin(),
		Fresh:      s.fresh && s.r.cfg.Now().Before(s.r.freshUntil),
		Positioned: s.positioned,
		Cutoff:     s.r.cutoff,
		Margin:     s.r.margin(),
	}
}

// count tells the reader once that this shard no longer depends on LATEST.
func (s *shard) count() {
	if s.fresh && !s.counted {
		s.counted = true
		s.r.positionedOne()
	}
}

func (s *shard) succeeded() {
	s.trouble.clear()
	s.gone = 0
	s.failingAt.Store(0)
	s.lastErr.Store(nil)
	s.readAt.Store(s.r.cfg.Now().UnixNano())
}

func (s *shard) note(err error) {
	text := err.Error()
	s.lastErr.Store(&text)
	s.failingAt.CompareAndSwap(0, s.r.cfg.Now().UnixNano())
}

// lost is why the partition stopped accepting.
func (s *shard) lost() error {
	err := s.part.Err()
	if err == nil {
		err = checkpoint.ErrFenced
	}
	return fmt.Errorf("streamreader: shard %s: %w", s.id, err)
}

// stale is the answer to an acknowledgement that changed nothing.
func (s *shard) stale() error {
	if err := s.part.Err(); err != nil {
		return fmt.Errorf("%w: shard %s: %w", ErrStale, s.id, err)
	}
	return fmt.Errorf("%w: shard %s", ErrStale, s.id)
}

// setPart is under the reader's lock for those who look from outside.
func (s *shard) setPart(p *checkpoint.Partition[position], resumedAt time.Time) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.part, s.resumedAt = p, resumedAt
}

// durableTimeLocked is the creation time of the record at the durable position.
func (s *shard) durableTimeLocked() time.Time {
	if s.part == nil {
		return time.Time{}
	}
	if p, ok := s.part.Durable(); ok && !p.created.IsZero() {
		return p.created
	}
	return s.resumedAt
}

// hasPositionLocked reports whether the shard's position is durable.
func (s *shard) hasPositionLocked() bool {
	if s.part == nil {
		return false
	}
	p, ok := s.part.Durable()
	return ok && !p.n.IsZero()
}
