package streamtest

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// Service is an in-process DynamoDB of one account and region: tables, their
// streams, and the test's hands on both. All methods are safe for concurrent use.
type Service struct{ cfg Config }

// New returns a Service without tables. It starts nothing and needs no Close.
// It panics on a Config that cannot work.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		panic(err)
	}
	return &Service{cfg: cfg}
}

// Change tells where a write landed in the stream. It is the zero Change when
// the table has no stream or the write changed nothing.
type Change struct {
	ShardID        string
	SequenceNumber string
	Created        time.Time
}

// Shard is what the test may know of a shard and a reader may not.
type Shard struct {
	ID, Parent    string
	Opened        time.Time
	Closed        time.Time // zero while open
	First, Last   string    // sequence numbers of its retained records, empty if none
	Records       int       // retained
	StartSequence string
	EndSequence   string // empty while open
}

// OperationCalls counts the calls of one operation.
type OperationCalls struct {
	Calls     int // all of them
	Failed    int // answered with an error, whatever its cause
	Faults    int // of those, by the fault schedule
	OverLimit int // came over the documented rate, refused or not
	PeakRate  int // most calls in one second of the clock
}

func (s *Service) CreateTable(t Table) error                                   { panic("todo") }
func (s *Service) Put(table string, item Item) (Change, error)                 { panic("todo") }
func (s *Service) Delete(table string, key Item) (Change, error)               { panic("todo") }
func (s *Service) Get(table string, key Item) (Item, bool)                     { panic("todo") }
func (s *Service) Items(table string) []Item                                   { panic("todo") }
func (s *Service) StreamARN(table string) string                               { panic("todo") }
func (s *Service) Shards(table string) []Shard                                 { panic("todo") }
func (s *Service) Rotate(table string) error                                   { panic("todo") }
func (s *Service) RotateShard(table, shardID string) (string, error)           { panic("todo") }
func (s *Service) Split(table, shardID string) (children [2]string, err error) { panic("todo") }
func (s *Service) Merge(table, shardA, shardB string) (string, error)          { panic("todo") }
func (s *Service) Trim(table string, olderThan time.Duration) error            { panic("todo") }
func (s *Service) ExpireIterators()                                            { panic("todo") }
func (s *Service) DisableStream(table string) error                            { panic("todo") }
func (s *Service) EnableStream(table string) (arn string, err error)           { panic("todo") }
func (s *Service) Advance(d time.Duration)                                     { panic("todo") }
func (s *Service) Time() time.Time                                             { panic("todo") }
func (s *Service) SetFaults(faults map[string]FaultRates)                      { panic("todo") }
func (s *Service) FailNext(operation string, f Fault, n int)                   { panic("todo") }
func (s *Service) Calls() map[string]OperationCalls                            { panic("todo") }

func (s *Service) Dynamo() *Dynamo   { panic("todo") }
func (s *Service) Streams() *Streams { panic("todo") }

// HTTPClient answers SDK calls in process, without a network.
func (s *Service) HTTPClient() *http.Client                         { panic("todo") }
func (s *Service) AWSConfig() aws.Config                            { panic("todo") }
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic("todo") }
func (s *Service) Serve() (*Server, error)                          { panic("todo") }

type Server struct{}

func (s *Server) URL() string           { panic("todo") }
func (s *Server) Close() error          { panic("todo") }
func (s *Server) AWSConfig() aws.Config { panic("todo") }

type (
	Dynamo  struct{ s *Service }
	Streams struct{ s *Service }
)

func (c *Dynamo) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	panic("todo")
}

func (c *Dynamo) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	panic("todo")
}

func (c *Dynamo) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	panic("todo")
}

func (c *Dynamo) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	panic("todo")
}

func (c *Dynamo) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	panic("todo")
}

func (c *Dynamo) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	panic("todo")
}

func (c *Dynamo) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	panic("todo")
}

func (c *Dynamo) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	panic("todo")
}

func (c *Streams) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	panic("todo")
}

func (c *Streams) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	panic("todo")
}

func (c *Streams) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	panic("todo")
}

func (c *Streams) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	panic("todo")
}
