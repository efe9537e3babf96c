package sim

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// call makes one call out of the process. It takes a time that its name, its
// target and its number decide.
func (a *attempt) call(ctx context.Context, op, target string, do func() error) error {
	a.mu.Lock()
	n := a.calls[op+target]
	a.calls[op+target]++
	a.mu.Unlock()
	dice := a.world.chance.of(op+target, a.n, n)
	d := dice.between(time.Millisecond, 20*time.Millisecond)
	if err := a.process.pass(ctx, dice); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := a.process.pass(ctx, dice); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return a.process.pass(ctx, dice) // a frozen process does not see the answer
}

// tables and streams are the service as a worker sees it.
type tables struct {
	*streamtest.Dynamo
	a *attempt
}

func (c tables) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (out *dynamodb.ScanOutput, err error) {
	err = c.a.call(ctx, "Scan", string(rune('0'+aws.ToInt32(in.Segment))), func() error {
		out, err = c.Dynamo.Scan(ctx, in)
		return err
	})
	return out, err
}

func (c tables) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (out *dynamodb.DescribeTableOutput, err error) {
	err = c.a.call(ctx, "DescribeTable", "", func() error {
		out, err = c.Dynamo.DescribeTable(ctx, in)
		return err
	})
	return out, err
}

type streams struct {
	*streamtest.Streams
	a *attempt
}

func (c streams) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (out *dynamodbstreams.DescribeStreamOutput, err error) {
	err = c.a.call(ctx, "DescribeStream", "", func() error {
		out, err = c.Streams.DescribeStream(ctx, in)
		return err
	})
	if err == nil && out.StreamDescription != nil { // else it lost its body
		for _, s := range out.StreamDescription.Shards {
			c.a.world.oracle.named(c.a, aws.ToString(s.ShardId), aws.ToString(s.ParentShardId))
		}
	}
	return out, err
}

func (c streams) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (out *dynamodbstreams.GetShardIteratorOutput, err error) {
	err = c.a.call(ctx, "GetShardIterator", aws.ToString(in.ShardId), func() error {
		out, err = c.Streams.GetShardIterator(ctx, in)
		return err
	})
	if err == nil {
		c.a.iterates(aws.ToString(out.ShardIterator), aws.ToString(in.ShardId))
	}
	return out, err
}

func (c streams) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (out *dynamodbstreams.GetRecordsOutput, err error) {
	c.a.mu.Lock()
	shard := c.a.iterators[aws.ToString(in.ShardIterator)]
	c.a.mu.Unlock()
	err = c.a.call(ctx, "GetRecords", shard, func() error {
		out, err = c.Streams.GetRecords(ctx, in)
		return err
	})
	if err == nil {
		c.a.iterates(aws.ToString(out.NextShardIterator), shard)
	}
	return out, err
}

// iterates notes whose an iterator is: its text depends on the order of calls.
func (a *attempt) iterates(iterator, shard string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.iterators[iterator] = shard
}
