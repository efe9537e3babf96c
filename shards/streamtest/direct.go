package streamtest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// Dynamo calls a Service's tables with the method signatures of
// *dynamodb.Client, without a network, JSON or retries: a fault is what the
// caller gets. It may be used in a testing/synctest bubble.
type Dynamo struct{ s *Service }

// Streams calls a Service's streams with the method signatures of
// *dynamodbstreams.Client, as Dynamo does its tables.
type Streams struct{ s *Service }

// Dynamo returns a direct client of the tables.
func (s *Service) Dynamo() *Dynamo { return &Dynamo{s} }

// Streams returns a direct client of the streams.
func (s *Service) Streams() *Streams { return &Streams{s} }

// direct runs an operation and dresses its result as the SDK does: errors
// wrapped in an OperationError, the server's time and the HTTP answer in the
// metadata.
func direct[In, Out any](ctx context.Context, s *Service, operation string, ofStreams bool, in *In, do func(*In) (*Out, error)) (*Out, middleware.Metadata, error) {
	if in == nil {
		in = new(In)
	}
	var out *Out
	err := s.hook.around(ctx, operation, ofStreams, func() (err error) {
		out, err = do(in)
		return err
	})
	meta := middleware.Metadata{}
	if errors.Is(err, errEmptied) {
		out, err = new(Out), nil
	}
	if err != nil {
		service := "DynamoDB"
		if ofStreams {
			service = "DynamoDB Streams"
		}
		if gaveUp(err) {
			err = &aws.RequestCanceledError{Err: err}
		} else if errors.Is(err, errCut) {
			err = &smithyhttp.RequestSendError{Err: err}
		} else if errors.Is(err, errTorn) {
			err = &smithyhttp.ResponseError{
				Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}},
				Err:      &smithy.DeserializationError{Err: err},
			}
		}
		return nil, meta, &smithy.OperationError{ServiceID: service, OperationName: operation, Err: err}
	}
	return out, s.metadata(ctx), nil
}

// metadata is that of an answer with the service's Date, so that GetServerTime
// and GetRawResponse work as they do over HTTP. Calls of one second share its making: simulations
// make millions.
func (s *Service) metadata(ctx context.Context) middleware.Metadata {
	second := [2]int64{s.Time().Unix(), time.Now().Unix()}
	c := &s.answers
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.second != second || !c.made {
		c.second, c.made, c.meta = second, true, dated(ctx, time.Unix(second[0], 0))
	}
	return c.meta.Clone()
}

// answers is the metadata of the last second's answers, by the service's clock
// and by the caller's.
type answers struct {
	mu     sync.Mutex
	made   bool
	second [2]int64
	meta   middleware.Metadata
}

// dated lets the SDK's own middleware read a Date header and keep the answer, whose
// body has been read.
func dated(ctx context.Context, now time.Time) middleware.Metadata {
	header := http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}
	answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody}}
	_, meta, _ := awsmiddleware.RecordResponseTiming{}.HandleDeserialize(ctx, middleware.DeserializeInput{},
		middleware.DeserializeHandlerFunc(func(ctx context.Context, in middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
			return awsmiddleware.AddRawResponse{}.HandleDeserialize(ctx, in,
				middleware.DeserializeHandlerFunc(func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
					return middleware.DeserializeOutput{RawResponse: answer}, middleware.Metadata{}, nil
				}))
		}))
	return meta
}

// CreateTable is dynamodb.Client.CreateTable.
func (c *Dynamo) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	out, meta, err := direct(ctx, c.s, "CreateTable", false, in, c.s.createTable)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// DescribeTable is dynamodb.Client.DescribeTable.
func (c *Dynamo) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, meta, err := direct(ctx, c.s, "DescribeTable", false, in, c.s.describeTable)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// GetItem is dynamodb.Client.GetItem.
func (c *Dynamo) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, meta, err := direct(ctx, c.s, "GetItem", false, in, c.s.getItem)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// PutItem is dynamodb.Client.PutItem.
func (c *Dynamo) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, meta, err := direct(ctx, c.s, "PutItem", false, in, func(in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		own := *in
		own.Item, own.ExpressionAttributeValues = value.CopyItem(in.Item), value.CopyItem(in.ExpressionAttributeValues)
		return c.s.putItem(&own)
	})
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// UpdateItem is dynamodb.Client.UpdateItem.
func (c *Dynamo) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, meta, err := direct(ctx, c.s, "UpdateItem", false, in, func(in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
		own := *in
		own.Key, own.ExpressionAttributeValues = value.CopyItem(in.Key), value.CopyItem(in.ExpressionAttributeValues)
		return c.s.updateItem(&own)
	})
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// DeleteItem is dynamodb.Client.DeleteItem.
func (c *Dynamo) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, meta, err := direct(ctx, c.s, "DeleteItem", false, in, c.s.deleteItem)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// Query is dynamodb.Client.Query.
func (c *Dynamo) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, meta, err := direct(ctx, c.s, "Query", false, in, c.s.query)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// Scan is dynamodb.Client.Scan.
func (c *Dynamo) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, meta, err := direct(ctx, c.s, "Scan", false, in, c.s.scan)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// ListStreams is dynamodbstreams.Client.ListStreams.
func (c *Streams) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	out, meta, err := direct(ctx, c.s, "ListStreams", true, in, c.s.listStreams)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// DescribeStream is dynamodbstreams.Client.DescribeStream.
func (c *Streams) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, meta, err := direct(ctx, c.s, "DescribeStream", true, in, c.s.describeStream)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// GetShardIterator is dynamodbstreams.Client.GetShardIterator.
func (c *Streams) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	out, meta, err := direct(ctx, c.s, "GetShardIterator", true, in, c.s.getShardIterator)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}

// GetRecords is dynamodbstreams.Client.GetRecords.
func (c *Streams) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	out, meta, err := direct(ctx, c.s, "GetRecords", true, in, c.s.getRecords)
	if err == nil {
		out.ResultMetadata = meta
	}
	return out, err
}
