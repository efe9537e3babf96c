package streamreader

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// client counts, and lets a test answer, the calls of a reader.
type client struct {
	w *world
	StreamsClient
	// before, if set, may answer a call with an error.
	before func(op string) error
	// emptyPages answers every second DescribeStream call with an empty page
	// that others follow.
	emptyPages bool
}

func (w *world) client() StreamsClient { return &client{w: w, StreamsClient: w.service.Streams()} }

func (c *client) fails(op string) error {
	if c.before == nil {
		return nil
	}
	return c.before(op)
}

func (c *client) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := c.fails("DescribeStream"); err != nil {
		return nil, err
	}
	if from := aws.ToString(in.ExclusiveStartShardId); c.emptyPages && from != "" && !strings.HasSuffix(from, "~") {
		return &dynamodbstreams.DescribeStreamOutput{StreamDescription: &types.StreamDescription{
			StreamStatus: types.StreamStatusEnabled, LastEvaluatedShardId: aws.String(from + "~"),
		}}, nil
	}
	return c.StreamsClient.DescribeStream(ctx, in, o...)
}

func (c *client) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	c.w.mu.Lock()
	c.w.calls = append(c.w.calls, string(in.ShardIteratorType))
	c.w.mu.Unlock()
	if err := c.fails("GetShardIterator"); err != nil {
		return nil, err
	}
	return c.StreamsClient.GetShardIterator(ctx, in, o...)
}

func (c *client) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if err := c.fails("GetRecords"); err != nil {
		return nil, err
	}
	return c.StreamsClient.GetRecords(ctx, in, o...)
}
