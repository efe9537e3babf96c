package streamtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// world is a naive model of a table and its stream: what is in the table, and
// every change ever made with the time it was made.
type world struct {
	s       *streamtest.Service
	now     time.Time
	items   map[string]int
	changes []change
	parent  map[string]string // of every shard ever seen
}

type change struct {
	key, shard, seq string
	total           int // -1: deleted
	at              time.Time
	gone            bool
}

func (w *world) note() {
	for _, sh := range w.s.Shards("orders") {
		w.parent[sh.ID] = sh.Parent
	}
}

// trim marks what has aged out.
func (w *world) trim(age time.Duration) {
	for i, c := range w.changes {
		if !c.at.After(w.now.Add(-age)) {
			w.changes[i].gone = true
		}
	}
}

func (w *world) write(t *rapid.T, key string, total int) {
	old, existed := w.items[key]
	var c streamtest.Change
	var err error
	item := streamtest.Item{"id": str(key), "total": num(total)}
	if total < 0 {
		c, err = w.s.Delete("orders", item)
		delete(w.items, key)
	} else {
		c, err = w.s.Put("orders", item)
		w.items[key] = total
	}
	if err != nil {
		t.Fatal(err)
	}
	changed := existed != (total >= 0) || existed && old != total
	if changed != (c != streamtest.Change{}) {
		t.Fatalf("%s: %d to %d: recorded %v", key, old, total, c)
	}
	if changed {
		w.changes = append(w.changes, change{key: key, shard: c.ShardID, seq: c.SequenceNumber, total: total, at: w.now})
	}
}

// readAll reads every retained shard from its horizon.
func (w *world) readAll(t *rapid.T, limit int32) map[string][]change {
	out := map[string][]change{}
	for _, sh := range w.s.Shards("orders") {
		arn := w.s.StreamARN("orders")
		it, err := w.s.Streams().GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &sh.ID, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		for next := it.ShardIterator; next != nil; {
			page, err := w.s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next, Limit: &limit})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				c := change{key: r.Dynamodb.Keys["id"].(*streams.AttributeValueMemberS).Value, shard: sh.ID, seq: *r.Dynamodb.SequenceNumber, total: -1}
				if v, ok := r.Dynamodb.NewImage["total"]; ok {
					fmt.Sscan(v.(*streams.AttributeValueMemberN).Value, &c.total)
				}
				out[sh.ID] = append(out[sh.ID], c)
			}
			if (page.NextShardIterator == nil) == sh.Closed.IsZero() && len(page.Records) < int(limit) {
				t.Fatalf("shard %s closed %v, ended %v", sh.ID, sh.Closed, page.NextShardIterator == nil)
			}
			if next = page.NextShardIterator; len(page.Records) == 0 {
				break
			}
		}
	}
	return out
}

// check holds the service against the model.
func (w *world) check(t *rapid.T) {
	w.note()
	read := w.readAll(t, 3)
	for shard, got := range read {
		var want []change
		for _, c := range w.changes {
			if c.shard == shard && !c.gone {
				c.at = time.Time{}
				want = append(want, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("shard %s reads\n%v, want\n%v", shard, got, want)
		}
	}
	for _, c := range w.changes {
		if len(read[c.shard]) == 0 && !c.gone {
			t.Fatalf("change %v is nowhere", c)
		}
	}
	// One key's changes: numbers grow, and each is in the shard of the last one
	// or in a descendant of it. A merge names only one of its parents, so here
	// lines are followed over splits and rotations.
	last := map[string]change{}
	for _, c := range w.changes {
		if p, ok := last[c.key]; ok && w.descends(c.shard, p.shard) && !numberLess(p.seq, c.seq) {
			t.Fatalf("%v does not follow %v", c, p)
		}
		last[c.key] = c
	}
}

func (w *world) descends(shard, from string) bool {
	for ; shard != ""; shard = w.parent[shard] {
		if shard == from {
			return true
		}
	}
	return false
}

func numberLess(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && strings.Compare(a, b) < 0
}

func TestServiceAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: fixed(), items: map[string]int{}, parent: map[string]string{}}
		w.s = streamtest.New(streamtest.Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Now: func() time.Time { return w.now }, Limits: streamtest.Limits{GetRecords: -1},
		})
		if err := w.s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewImage, Shards: rapid.IntRange(1, 3).Draw(t, "shards")}); err != nil {
			t.Fatal(err)
		}
		pass := func(d time.Duration) {
			w.now = w.now.Add(d)
			w.trim(24 * time.Hour)
		}
		open := func() (ids []string) {
			for _, sh := range w.s.Shards("orders") {
				if sh.Closed.IsZero() {
					ids = append(ids, sh.ID)
				}
			}
			return ids
		}
		t.Repeat(map[string]func(*rapid.T){
			"": w.check,
			"put": func(t *rapid.T) {
				w.write(t, fmt.Sprint("k", rapid.IntRange(0, 9).Draw(t, "key")), rapid.IntRange(0, 3).Draw(t, "total"))
			},
			"delete": func(t *rapid.T) { w.write(t, fmt.Sprint("k", rapid.IntRange(0, 9).Draw(t, "key")), -1) },
			"rotate": func(t *rapid.T) {
				if err := w.s.Rotate("orders"); err != nil {
					t.Fatal(err)
				}
			},
			"split": func(t *rapid.T) {
				if _, err := w.s.Split("orders", rapid.SampledFrom(open()).Draw(t, "shard")); err != nil {
					t.Fatal(err)
				}
			},
			"merge": func(t *rapid.T) {
				ids := open()
				a, b := rapid.SampledFrom(ids).Draw(t, "a"), rapid.SampledFrom(ids).Draw(t, "b")
				if _, err := w.s.Merge("orders", a, b); err != nil && !strings.Contains(err.Error(), "not neighbours") {
					t.Fatal(err)
				}
			},
			"wait": func(t *rapid.T) {
				w.note()
				pass(time.Duration(rapid.IntRange(1, 9*60).Draw(t, "minutes")) * time.Minute)
			},
			"trim": func(t *rapid.T) {
				w.note()
				age := time.Duration(rapid.IntRange(0, 9*60).Draw(t, "minutes")) * time.Minute
				if err := w.s.Trim("orders", age); err != nil {
					t.Fatal(err)
				}
				w.trim(age)
			},
			"scan": func(t *rapid.T) {
				got, segments := map[string]int{}, rapid.Int32Range(1, 5).Draw(t, "segments")
				for segment := range segments {
					var start streamtest.Item
					for {
						out, err := w.s.Dynamo().Scan(t.Context(), &dynamodb.ScanInput{
							TableName: aws.String("orders"), Segment: &segment, TotalSegments: &segments, Limit: aws.Int32(2), ExclusiveStartKey: start,
						})
						if err != nil {
							t.Fatal(err)
						}
						for _, item := range out.Items {
							total := -1
							fmt.Sscan(item["total"].(*types.AttributeValueMemberN).Value, &total)
							key := item["id"].(*types.AttributeValueMemberS).Value
							if _, twice := got[key]; twice {
								t.Fatalf("%s scanned twice", key)
							}
							got[key] = total
						}
						if start = out.LastEvaluatedKey; start == nil {
							break
						}
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(w.items) {
					t.Fatalf("scan found %v, want %v", got, w.items)
				}
			},
		})
	})
}
