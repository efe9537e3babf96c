package streamreader

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// errHollow is an answer of success that lacks what every such answer has: its
// body was lost, and the SDK takes none for an empty one.
var errHollow = errors.New("streamreader: the answer arrived without its body")

func describeStream(c StreamsClient) func(context.Context, *dynamodbstreams.DescribeStreamInput) (*dynamodbstreams.DescribeStreamOutput, error) {
	return func(ctx context.Context, in *dynamodbstreams.DescribeStreamInput) (*dynamodbstreams.DescribeStreamOutput, error) {
		out, err := c.DescribeStream(ctx, in)
		if err == nil && out != nil && out.StreamDescription == nil {
			err = errHollow
		}
		return out, err
	}
}

func getShardIterator(c StreamsClient) func(context.Context, *dynamodbstreams.GetShardIteratorInput) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return func(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput) (*dynamodbstreams.GetShardIteratorOutput, error) {
		out, err := c.GetShardIterator(ctx, in)
		if err == nil && out != nil && aws.ToString(out.ShardIterator) == "" {
			err = errHollow
		}
		return out, err
	}
}

// getRecords tells the end of a shard, an answer without an iterator whose list
// of records is empty, from an answer without anything: that shard would be
// complete, and what it still holds never read. A client that is not the SDK's,
// and brings no HTTP answer, is believed.
func getRecords(c StreamsClient) func(context.Context, *dynamodbstreams.GetRecordsInput) (*dynamodbstreams.GetRecordsOutput, error) {
	return func(ctx context.Context, in *dynamodbstreams.GetRecordsInput) (*dynamodbstreams.GetRecordsOutput, error) {
		out, err := c.GetRecords(ctx, in)
		if err == nil && out != nil && out.Records == nil && out.NextShardIterator == nil &&
			awsmiddleware.GetRawResponse(out.ResultMetadata) != nil {
			err = errHollow
		}
		return out, err
	}
}
