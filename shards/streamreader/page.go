package streamreader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards"
)

// page is a GetRecords answer without what is not owed.
type page struct {
	records   []types.Record
	read      int // records in the answer that were not read before
	first     shards.SequenceNumber
	firstTime time.Time
	last      shards.SequenceNumber
	lastTime  time.Time
	weight    weight
}

// sift takes out what is older than the start allows, and what was read before.
func (s *shard) sift(records []types.Record) (page, error) {
	p := page{records: records[:0], last: s.last}
	for _, rec := range records {
		if rec.Dynamodb == nil {
			return page{}, ours(fmt.Errorf("%w: a record of shard %s has no stream record", ErrTerminal, s.id))
		}
		n, err := shards.ParseSequenceNumber(aws.ToString(rec.Dynamodb.SequenceNumber))
		if err != nil {
			return page{}, ours(fmt.Errorf("%w: a record of shard %s: %w", ErrTerminal, s.id, err))
		}
		if n.Compare(p.last) <= 0 {
			if p.read == 0 {
				continue // read before
			}
			// Positions would mean nothing then, and dropping it would be a silent loss.
			return page{}, ours(fmt.Errorf("%w: shard %s answered record %v behind record %v", ErrTerminal, s.id, n, p.last))
		}
		created := aws.ToTime(rec.Dynamodb.ApproximateCreationDateTime)
		if p.read++; p.read == 1 {
			p.first, p.firstTime = n, created
		}
		p.last, p.lastTime = n, created
		if s.start.Skips(created) {
			continue
		}
		p.records = append(p.records, rec)
		p.weight.records++
		p.weight.bytes += aws.ToInt64(rec.Dynamodb.SizeBytes)
	}
	return p, nil
}

// deliver tracks a page and hands it out. A page of which nothing is owed is
// tracked too, so that progress moves over it.
func (s *shard) deliver(ctx context.Context, p page) error {
	if p.read == 0 {
		return nil
	}
	ticket, err := s.part.TrackAt(ctx, position{p.last, p.lastTime}, p.lastTime, max(1, p.weight.records))
	if err != nil {
		s.r.flight.settle(s.seat, p.weight)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.lost()
	}
	if len(p.records) == 0 {
		ticket.Discard()
	} else {
		d := delivery{
			batch:  Batch{ShardID: s.id, Records: p.records, Last: p.last},
			shard:  s,
			ticket: ticket,
			weight: p.weight,
		}
		select {
		case s.r.out <- d:
		case <-s.part.Lost():
			s.r.flight.settle(s.seat, p.weight)
			return s.lost()
		case <-ctx.Done():
			return ctx.Err() // the ticket stays open: the page is read again
		}
	}
	s.last, s.lastTime, s.trimmed = p.last, p.lastTime, false
	s.records.Add(int64(p.read))
	s.eventAt.Store(p.lastTime.UnixNano())
	return nil
}

// errOurs marks errors that are decisions of this package, not the service's.
var errOurs = errors.New("streamreader: decided")

type decided struct{ error }

func (d decided) Unwrap() error        { return d.error }
func (d decided) Is(target error) bool { return target == errOurs }

func ours(err error) error { return decided{err} }
