// Command backfill measures the backfill of a table of 1,000,000 small items, from
// a simulated DynamoDB in the same process, and prints medians: see package
// report for the lines.
//
// The pipeline is a Runner around a table scan of sixteen segments, with
// checkpoints in memory, whose caller acks every page at once. Its peer, raw, is
// the same sixteen scans in goroutines of their own that count the items and
// forget them: no order, no acks, no resume. Both pay for the simulated table,
// so the difference of the two is what ackgate costs; a real table is slower by
// the network.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/backfill/tablescan"
	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

const segments = 16

func main() {
	items := flag.Int("items", 1_000_000, "items of the table")
	s := report.New()
	table := fill(*items)
	ctx := context.Background()

	var ours, raw measures
	for range s.Rounds() {
		ours.add(measure(func() (int, uint64) { return pipeline(ctx, table) }))
		raw.add(measure(func() (int, uint64) { return scan(ctx, table.Dynamo()) }))
	}
	if rows := ours[0].rows; rows != *items {
		log.Fatalf("backfill: %d of %d items were delivered", rows, *items)
	}
	s.Value("backfill/items", float64(*items), "rows")
	s.Value("backfill/item-size", ours.median(func(m measured) float64 { return float64(m.bytes) / float64(m.rows) }), "bytes/row")
	s.Value("backfill/rate", ours.median(measured.rate), "rows/s")
	s.Value("backfill/raw-rate", raw.median(measured.rate), "rows/s")
	alloc := func(m measured) float64 { return float64(m.alloc) / float64(m.rows) }
	s.Value("backfill/allocated", ours.median(alloc), "bytes/row")
	s.Value("backfill/allocated-beyond-raw", ours.median(alloc)-raw.median(alloc), "bytes/row")
	s.Value("backfill/time-of-raw", raw.median(measured.rate)/ours.median(measured.rate), "times")
	s.Exit()
}

// fill makes the table: a key of 9 digits, a number and a short text.
func fill(n int) *streamtest.Service {
	s := streamtest.New(streamtest.Config{})
	must(s.CreateTable(streamtest.Table{Name: "items", Hash: "id"}))
	for i := range n {
		_, err := s.Put("items", streamtest.Item{
			"id":    &types.AttributeValueMemberS{Value: strconv.Itoa(1e8 + i)},
			"count": &types.AttributeValueMemberN{Value: strconv.Itoa(i)},
			"state": &types.AttributeValueMemberS{Value: "waiting for shipment"},
		})
		must(err)
	}
	return s
}

// pipeline backfills the table once.
func pipeline(ctx context.Context, table *streamtest.Service) (rows int, bytes uint64) {
	c := checkpoint.NewCommitter(checkpoint.NewMemory(), "bench")
	scanner, err := tablescan.New(tablescan.Config{Client: table.Dynamo(), Table: "items", Segments: segments})
	must(err)
	r, err := backfill.New(backfill.BackfillOnly(scanner), backfill.Config{Committer: c, Mode: backfill.BackfillOnlyMode})
	must(err)
	for {
		page, ack, err := r.Read(ctx)
		if errors.Is(err, backfill.ErrEnd) {
			break
		}
		must(err)
		rows += len(page.Items)
		must(ack(ctx, nil))
	}
	bytes = scanner.Progress().Bytes
	must(r.Close(ctx))
	must(c.Close(ctx))
	return rows, bytes
}

// scan reads the table without ackgate.
func scan(ctx context.Context, client *streamtest.Dynamo) (int, uint64) {
	var rows atomic.Int64
	var all sync.WaitGroup
	for i := range int32(segments) {
		all.Go(func() {
			in := &dynamodb.ScanInput{
				TableName: aws.String("items"), Segment: aws.Int32(i), TotalSegments: aws.Int32(segments),
				ConsistentRead: aws.Bool(true),
			}
			for {
				out, err := client.Scan(ctx, in)
				must(err)
				rows.Add(int64(len(out.Items)))
				if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
					return
				}
			}
		})
	}
	all.Wait()
	return int(rows.Load()), 0
}

// measured is one run.
type measured struct {
	rows         int
	bytes, alloc uint64
	took         time.Duration
}

func (m measured) rate() float64 { return float64(m.rows) / m.took.Seconds() }

func measure(run func() (int, uint64)) (m measured) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	m.rows, m.bytes = run()
	m.took = time.Since(began)
	runtime.ReadMemStats(&after)
	m.alloc = after.TotalAlloc - before.TotalAlloc
	return m
}

type measures []measured

func (ms *measures) add(m measured) { *ms = append(*ms, m) }

func (ms measures) median(f func(measured) float64) float64 {
	vs := make([]float64, len(ms))
	for i, m := range ms {
		vs[i] = f(m)
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
