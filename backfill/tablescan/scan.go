package tablescan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/keymap"
	"github.com/ackgate/ackgate/tracker"
)

// scan reads one segment to its end and seals it.
func (a *attempt) scan(seg *segment) error {
	for {
		select {
		case a.slots <- struct{}{}:
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-seg.part.Lost():
			return seg.lost()
		}
		last, err := a.scanPage(seg)
		if err != nil {
			return err
		}
		if last {
			a.sealed()
			return nil
		}
	}
}

// lost says that another attempt has the segment: whether an older or a newer
// one, the Runner finds out.
func (seg *segment) lost() error {
	return fmt.Errorf("tablescan: segment %s: %w", seg.part.Key(), seg.part.Err())
}

// sealed counts a segment that was read to its end.
func (a *attempt) sealed() {
	a.count.segments.Add(1)
	a.mu.Lock()
	a.missing--
	all := a.missing == 0
	a.mu.Unlock()
	if all {
		a.finished.Do(func() { close(a.done) })
	}
}

// scanPage reads one page with the slot that the caller took, and hands it out
// or, if it is empty, settles it itself: an empty page with a LastEvaluatedKey is
// progress, not an end.
func (a *attempt) scanPage(seg *segment) (last bool, err error) {
	out, err := a.request(seg)
	if err != nil {
		return false, err
	}
	seg.from = out.LastEvaluatedKey
	last = len(out.LastEvaluatedKey) == 0
	if len(out.Items) == 0 {
		<-a.slots
		if last {
			seg.part.Seal()
			return true, nil
		}
		t, err := seg.part.Track(a.ctx, out.LastEvaluatedKey, 0)
		if err != nil {
			return false, a.trackError(seg, err)
		}
		t.Ack()
		return false, nil
	}

	// The last page has no key to rest on: its settlement completes the
	// segment, and a crash before that reads it again.
	var t tracker.Ticket[checkpoint.At[keymap.Key]]
	if last {
		t, err = seg.part.TrackHold(a.ctx, 1)
	} else {
		t, err = seg.part.Track(a.ctx, out.LastEvaluatedKey, 1)
	}
	if err != nil {
		return false, a.trackError(seg, err)
	}
	if last {
		seg.part.Seal()
	}
	seg.pages++
	a.count.page(out)
	h := handed{
		page: Page{Table: a.cfg.Table, Segment: seg.i, Number: seg.pages, Items: out.Items},
		ack:  a.ackOf(seg, t),
	}
	select {
	case a.pages <- h:
		return last, nil
	case <-a.ctx.Done():
		return false, a.ctx.Err()
	}
}

func (a *attempt) trackError(seg *segment, err error) error {
	if errors.Is(err, tracker.ErrAbandoned) && errors.Is(seg.part.Err(), checkpoint.ErrFenced) {
		return seg.lost()
	}
	return err
}

// ackOf settles one page. It does not wait for the store, even if the Committer
// has the option Sync: the handoff waits for all of them together.
func (a *attempt) ackOf(seg *segment, t tracker.Ticket[checkpoint.At[keymap.Key]]) backfill.AckFunc {
	return func(_ context.Context, err error) error {
		switch {
		case backfill.Discarded(err) && t.Discard(), err == nil && t.Ack():
			<-a.slots
			a.count.settled.Add(1)
			return nil
		case err != nil && !backfill.Discarded(err):
			t.Nack(err) // still outstanding: it pins the segment
			return nil
		}
		if lost := seg.part.Err(); lost != nil {
			return lost
		}
		return backfill.ErrStale
	}
}

// request reads a page, again for as long as that may help.
func (a *attempt) request(seg *segment) (*dynamodb.ScanOutput, error) {
	in := &dynamodb.ScanInput{
		TableName:              &a.cfg.Table,
		ConsistentRead:         aws.Bool(!a.cfg.EventuallyConsistent),
		ExclusiveStartKey:      seg.from,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if n := a.run.Plan.Segments; n > 1 {
		in.Segment, in.TotalSegments = aws.Int32(int32(seg.i)), aws.Int32(int32(n))
	}
	if a.cfg.Limit > 0 {
		in.Limit = &a.cfg.Limit
	}
	if a.cfg.Projection != "" {
		in.ProjectionExpression = &a.cfg.Projection
		if len(a.cfg.Names) > 0 {
			in.ExpressionAttributeNames = a.cfg.Names
		}
	}
	for n := 1; ; n++ {
		if err := a.recheck(); err != nil {
			return nil, err
		}
		if err := a.govern.wait(a.ctx); err != nil {
			return nil, err
		}
		out, err := a.cfg.Client.Scan(a.ctx, in)
		if err == nil && hollow(out) {
			err = errHollow
		}
		err = quiet(err)
		switch {
		case err == nil:
			units := consumed(out, a.cfg.EventuallyConsistent)
			a.govern.charge(units, time.Now())
			a.count.consumed(units)
			return out, nil
		case a.ctx.Err() != nil:
			return nil, a.ctx.Err()
		case gone(err):
			return nil, fmt.Errorf("%w: %q went while segment %d was read: %w", ErrTableGone, a.cfg.Table, seg.i, err)
		case !retryable(err):
			// Not from which key on: it is an item's, and errors end in logs.
			return nil, fmt.Errorf("tablescan: scan of table %q, segment %d of %d: %w", a.cfg.Table, seg.i, a.run.Plan.Segments, err)
		}
		a.count.retries.Add(1)
		a.cfg.Log.Debug("tablescan: a page will be read again", "table", a.cfg.Table, "segment", seg.i, "attempt", n, "err", err)
		if a.cfg.OnRetry != nil {
			a.cfg.OnRetry(seg.i, err, n)
		}
		if err := sleep(a.ctx, a.cfg.Retry.Pause(n)); err != nil {
			return nil, err
		}
	}
}

// hollow reports whether an answer of the service has nothing in it: the service
// always says what a Scan cost, since the request asks for it, and an empty page
// has an empty list of items.
func hollow(out *dynamodb.ScanOutput) bool {
	return awsmiddleware.GetRawResponse(out.ResultMetadata) != nil &&
		out.Items == nil && out.LastEvaluatedKey == nil && out.ConsumedCapacity == nil
}

// recheck describes the table when that is due: for the estimate, and to notice
// that another table has the name.
func (a *attempt) recheck() error {
	now := time.Now()
	a.mu.Lock()
	due := now.Sub(a.checked) >= a.cfg.CheckEvery
	if due {
		a.checked = now // one worker asks
	}
	a.mu.Unlock()
	if !due {
		return nil
	}
	out, err := a.cfg.Client.DescribeTable(a.ctx, &dynamodb.DescribeTableInput{TableName: &a.cfg.Table})
	switch {
	case gone(err):
		return fmt.Errorf("%w: %q: %w", ErrTableGone, a.cfg.Table, err)
	case err != nil || out.Table == nil:
		return a.ctx.Err() // asked again at the end of the scan at the latest
	}
	return a.identify(out.Table)
}
