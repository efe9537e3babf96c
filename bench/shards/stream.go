package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamreader"
)

// stream answers from memory, at no cost worth mentioning: open shards with the
// given pages, made beforehand, and empty pages behind them.
type stream struct {
	shards []types.Shard
	pages  [][][]types.Record // by shard
}

func newStream(n int, pages [][][]types.Record) *stream {
	st := &stream{pages: pages}
	for i := range n {
		st.shards = append(st.shards, types.Shard{
			ShardId:             aws.String(fmt.Sprintf("shardId-%020d-%08x", i, i)),
			SequenceNumberRange: &types.SequenceNumberRange{StartingSequenceNumber: aws.String("1")},
		})
	}
	return st
}

func (st *stream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	from := 0
	if in.ExclusiveStartShardId != nil {
		from = st.index(*in.ExclusiveStartShardId) + 1
	}
	to := min(from+100, len(st.shards))
	d := &types.StreamDescription{StreamStatus: types.StreamStatusEnabled, Shards: st.shards[from:to]}
	if to < len(st.shards) {
		d.LastEvaluatedShardId = st.shards[to-1].ShardId
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (st *stream) index(id string) int {
	n, err := strconv.Atoi(strings.Split(id, "-")[1])
	if err != nil {
		panic(err)
	}
	return n
}

func (st *stream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(strconv.Itoa(st.index(*in.ShardId)) + " 0")}, nil
}

func (st *stream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if len(st.pages) == 0 {
		return &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}, nil
	}
	a, b, _ := strings.Cut(*in.ShardIterator, " ")
	shard, _ := strconv.Atoi(a)
	page, _ := strconv.Atoi(b)
	out := &dynamodbstreams.GetRecordsOutput{NextShardIterator: in.ShardIterator}
	if page < len(st.pages[shard]) {
		out.Records = st.pages[shard][page]
		out.NextShardIterator = aws.String(a + " " + strconv.Itoa(page+1))
	}
	return out, nil
}

func config(st *stream) streamreader.Config {
	return streamreader.Config{
		Client:       st,
		StreamARN:    "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/2026-01-01T00:00:00.000",
		Committer:    checkpoint.NewCommitter(checkpoint.NewMemory(), "bench"),
		Origin:       checkpoint.Origin{Start: checkpoint.StartTrimHorizon},
		DescribeRate: 1000,
	}
}

// perShard starts a reader over n shards without records, waits until each was
// read, and tells what one of them costs: heap and stacks, checkpoint
// partitions and a Memory store's rows included.
func perShard(n int) (bytes, goroutines float64) {
	before, was := inUse(), runtime.NumGoroutine()
	cfg := config(newStream(n, nil))
	r, err := streamreader.New(cfg)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = r.Read(ctx)
	}()
	for read := 0; read < n; time.Sleep(50 * time.Millisecond) {
		read = 0
		for _, s := range r.Health().Shards {
			if !s.LastRead.IsZero() {
				read++
			}
		}
	}
	bytes = float64(inUse()-before) / float64(n)
	goroutines = float64(runtime.NumGoroutine()-was) / float64(n)
	cancel()
	<-done
	if err := r.Close(context.Background()); err != nil {
		panic(err)
	}
	if err := cfg.Committer.Close(context.Background()); err != nil {
		panic(err)
	}
	return bytes, goroutines
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// throughput reads 100,000 records from n shards and acks each page: discovery,
// claims, tracking and the last save included, the service's part not.
func throughput(n int) func(*testing.B) {
	ps := make([][][]types.Record, n)
	created, number := time.Now(), 0
	for s := range ps {
		for range pages / n {
			page := make([]types.Record, perPage)
			for i := range page {
				number++
				page[i] = types.Record{Dynamodb: &types.StreamRecord{
					SequenceNumber:              aws.String(fmt.Sprintf("%021d", number)),
					ApproximateCreationDateTime: &created,
					SizeBytes:                   aws.Int64(100),
				}}
			}
			ps[s] = append(ps[s], page)
		}
	}
	want := number
	return func(b *testing.B) {
		ctx := context.Background()
		for range b.N {
			cfg := config(newStream(n, ps))
			cfg.Poll, cfg.MaxRecords = time.Nanosecond, 20_000
			r, err := streamreader.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			for got := 0; got < want; {
				batch, ack, err := r.Read(ctx)
				if err != nil {
					b.Fatal(err)
				}
				got += len(batch.Records)
				if err := ack(ctx, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := r.Drain(ctx); err != nil {
				b.Fatal(err)
			}
			if err := cfg.Committer.Close(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
}
