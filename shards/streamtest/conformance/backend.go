package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
)

// Tables is what the checks ask of a *dynamodb.Client.
type Tables interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Streams is what the checks ask of a *dynamodbstreams.Client.
type Streams interface {
	ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Backend is a server under test.
type Backend struct {
	Tables  Tables
	Streams Streams // nil: no streams, their checks are skipped
	// Known names checks that this server fails, with the reason. Checks are
	// named as the subtests of Run.
	Known map[string]string
}

// Run runs every check as a subtest.
func Run(t *testing.T, b Backend) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if why, ok := b.Known[c.name]; ok {
				t.Skipf("known: %s", why)
			}
			if c.streams && b.Streams == nil {
				t.Skip("no streams")
			}
			if err := c.run(t.Context(), b); err != nil {
				t.Fatalf("AWS documents otherwise: %v", err)
			}
		})
	}
}

type check struct {
	name    string
	streams bool
	run     func(ctx context.Context, b Backend) error
}

var checks []check

func tableCheck(name string, run func(ctx context.Context, b Backend) error) {
	checks = append(checks, check{name: name, run: run})
}

func streamCheck(name string, run func(ctx context.Context, b Backend) error) {
	checks = append(checks, check{name: name, streams: true, run: run})
}

// Item is a table item.
type Item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

var tableCount atomic.Int64

// newTable makes a table of hash key "h" (S) and, with a type, range key "r".
func newTable(ctx context.Context, tables Tables, rangeType types.ScalarAttributeType, view types.StreamViewType) (string, error) {
	name := fmt.Sprintf("conformance-%d-%d", time.Now().UnixNano(), tableCount.Add(1))
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("h"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("h"), AttributeType: types.ScalarAttributeTypeS}},
	}
	if rangeType != "" {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String("r"), KeyType: types.KeyTypeRange})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("r"), AttributeType: rangeType})
	}
	if view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	}
	if _, err := tables.CreateTable(ctx, in); err != nil {
		return "", err
	}
	for {
		out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil || out.Table.TableStatus == types.TableStatusActive {
			return name, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// code is an API error's code, "" for nil.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return strings.TrimSpace(api.ErrorCode())
	}
	return "no API error: " + err.Error()
}

func wantCode(what, want string, err error) error {
	if got := code(err); got != want {
		return fmt.Errorf("%s: answered %q (%v), want %q", what, got, err, want)
	}
	return nil
}

// steps runs them all and joins what failed.
func steps(fns ...func() error) (all error) {
	for _, fn := range fns {
		all = errors.Join(all, fn())
	}
	return all
}
