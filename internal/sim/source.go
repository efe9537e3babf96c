package sim

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
)

// An attempt is the connector too: a table and its stream.
var (
	_ backfill.Reader[batch] = (*attempt)(nil)
	_ backfill.Planner       = (*attempt)(nil)
	_ backfill.Starter       = (*attempt)(nil)
	_ backfill.Completer     = (*attempt)(nil)
	_ backfill.Closer        = (*attempt)(nil)
)

// PlanBackfill implements backfill.Planner.
func (a *attempt) PlanBackfill(ctx context.Context) (backfill.Plan, error) {
	p, err := a.scan.PlanBackfill(ctx)
	p.Anchor = a.arn
	return p, err
}

// StartBackfill implements backfill.Starter.
func (a *attempt) StartBackfill(ctx context.Context, run backfill.Run) error {
	var err error
	a.stream, err = a.newReader(checkpoint.Origin{Start: checkpoint.StartLatest, Time: run.Plan.StartTime, Source: run.Plan.Anchor}, nil)
	if err != nil {
		return err
	}
	a.run = run
	a.world.oracle.planIs(a, run)
	return a.scan.StartBackfill(ctx, run)
}

// ReadBackfill implements backfill.Reader.
func (a *attempt) ReadBackfill(ctx context.Context) (batch, backfill.AckFunc, error) {
	p, ack, err := a.scan.Read(ctx)
	if err != nil {
		return batch{}, nil, err
	}
	b := batch{partition: a.run.Partition(p.Segment), scan: true}
	for _, item := range p.Items {
		v, err := strconv.Atoi(item["v"].(*types.AttributeValueMemberN).Value)
		if err != nil {
			return batch{}, nil, err
		}
		b.changes = append(b.changes, a.world.oracle.version(item["id"].(*types.AttributeValueMemberS).Value, v))
	}
	b.last = a.world.oracle.scanIndex(b.partition, b.changes[len(b.changes)-1].key)
	return b, ack, nil
}

// ReadStream implements backfill.Reader.
func (a *attempt) ReadStream(ctx context.Context) (batch, backfill.AckFunc, error) {
	in, ack, err := a.stream.Read(ctx)
	if err != nil {
		return batch{}, nil, err
	}
	b := batch{partition: streamPrefix(a.arn) + in.ShardID}
	for _, r := range in.Records {
		c := a.world.oracle.record(in.ShardID, *r.Dynamodb.SequenceNumber)
		if c == nil {
			return batch{}, nil, errors.New("sim: a record that nobody wrote: " + *r.Dynamodb.SequenceNumber)
		}
		b.changes = append(b.changes, c)
	}
	last := b.changes[len(b.changes)-1]
	b.shard, b.last = last.shard, last.index
	return b, backfill.AckFunc(ack), nil
}

// BackfillComplete implements backfill.Completer.
func (a *attempt) BackfillComplete(_ context.Context, s backfill.Summary) error {
	a.world.oracle.backfillIsOver(a, s.Generation)
	return nil
}

// Close implements backfill.Closer.
func (a *attempt) Close(ctx context.Context) error {
	err := a.scan.Close(ctx)
	if a.stream != nil {
		err = errors.Join(err, a.stream.Close(ctx))
	}
	return err
}
