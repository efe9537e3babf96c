package streamreader

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards"
)

// failed carries out what Classify says. It reports true when the shard is at
// its end, because it no longer exists and the policy is to go on.
func (s *shard) failed(ctx context.Context, op shards.Op, err error) (end bool, _ error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	s.note(err)
	action := shards.Classify(op, code(err))
	if action != shards.GapGone {
		s.gone = 0
	}
	switch action {
	case shards.Renew:
		s.iterator = ""
	case shards.GapTrimmed:
		s.iterator = ""
		if pos := s.reached(); !pos.IsZero() && !s.trimmed {
			return false, s.leap(ctx, pos)
		}
		// At TRIM_HORIZON already: the horizon moved while we asked.
	case shards.GapGone:
		s.iterator = ""
		if s.gone++; s.gone >= goneAfter {
			return s.vanished(ctx)
		}
		action = shards.BackOff
	}
	return false, s.trouble.after(ctx, s.r, op, action, "shard "+s.id, err)
}

// reached is how far the shard was read, in this run or an earlier one.
func (s *shard) reached() shards.SequenceNumber {
	if !s.last.IsZero() {
		return s.last
	}
	return s.checkpoint
}

// leap reports what was trimmed behind pos, and starts again at TRIM_HORIZON
// if the policy says so.
func (s *shard) leap(ctx context.Context, pos shards.SequenceNumber) error {
	if s.r.settledElsewhere() {
		s.trimmed = true
		return nil
	}
	g := shards.Gap{Shard: s.id, After: pos, AfterTime: s.lastTime}
	s.peek(ctx, &g)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.r.gap(g); err != nil {
		return err
	}
	s.trimmed, s.hole = true, g
	return nil
}

// widen reports the last gap again if it is wider than was said, or its other end
// was not known: the horizon moves on until the read behind it succeeds, which
// back-pressure may hold up. first is what the read found, zero if nothing is left.
func (s *shard) widen(first shards.SequenceNumber, at time.Time) error {
	g := s.hole
	s.hole = shards.Gap{}
	switch {
	case g.After.IsZero(): // no gap
		return nil
	case g.Before.IsZero() && first.IsZero(): // said so
		return nil
	case !g.Before.IsZero() && !first.IsZero() && first.Compare(g.Before) <= 0:
		return nil
	}
	g.Before, g.BeforeTime = first, at
	return s.r.gap(g)
}

// peek looks for the gap's other end. It is for the report alone, so failing
// only leaves the report without it.
func (s *shard) peek(ctx context.Context, g *shards.Gap) {
	it, err := call(ctx, s.r, getShardIterator(s.r.cfg.Client), &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &s.r.cfg.StreamARN,
		ShardId:           &s.id,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return
	}
	next := it.ShardIterator
	for range 5 {
		if next == nil || pause(ctx, s.r.cfg.Poll) != nil {
			return
		}
		out, err := call(ctx, s.r, getRecords(s.r.cfg.Client), &dynamodbstreams.GetRecordsInput{ShardIterator: next, Limit: aws.Int32(1)})
		if err != nil {
			return
		}
		if len(out.Records) > 0 && out.Records[0].Dynamodb != nil {
			d := out.Records[0].Dynamodb
			g.Before, _ = shards.ParseSequenceNumber(aws.ToString(d.SequenceNumber))
			g.BeforeTime = aws.ToTime(d.ApproximateCreationDateTime)
			return
		}
		next = out.NextShardIterator
	}
}

// vanished is for a shard that the service no longer knows. What was not read
// of it is lost; the lineage moves on if the policy says so.
func (s *shard) vanished(ctx context.Context) (end bool, _ error) {
	// The same error is given when the whole stream is gone.
	_, err := call(ctx, s.r, describeStream(s.r.cfg.Client), &dynamodbstreams.DescribeStreamInput{
		StreamArn: &s.r.cfg.StreamARN,
		Limit:     aws.Int32(1),
	})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		if shards.Classify(shards.DescribeStream, code(err)) == shards.StreamGone {
			return false, fmt.Errorf("%w: %s: %w", ErrStreamGone, s.r.cfg.StreamARN, err)
		}
		return false, s.trouble.after(ctx, s.r, shards.DescribeStream, shards.BackOff, "the stream", err)
	}
	pos := s.reached()
	if !s.r.settledElsewhere() && (!pos.IsZero() || s.r.mayOwe(s.id)) {
		if err := s.r.gap(shards.Gap{Shard: s.id, After: pos, AfterTime: s.lastTime, Gone: true}); err != nil {
			return false, err
		}
	}
	// A TRIM_HORIZON read that found nothing counts as positioned.
	s.count()
	return true, nil
}
