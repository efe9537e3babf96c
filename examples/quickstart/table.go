package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

const (
	tableName       = "orders"
	checkpointTable = "ackgate-checkpoints"
	segments        = 4
	filler          = "an order needs some body, so that a page of the scan is a page and not a line"
)

// often is some three calls of a hundred.
var often = streamtest.FaultRates{Throttle: 0.01, Internal: 0.005, Cut: 0.005, LostAnswer: 0.01}

// newTable makes the table and its items, an hour before everything else: the
// stream still holds their insertions, and the pipeline must leave them out.
func newTable(seed uint64, items int) (*streamtest.Service, error) {
	s := streamtest.New(streamtest.Config{
		Seed: seed,
		// What makes the real service hard: a child listed before its parent,
		// answers without records, calls that fail, and calls that were done
		// although their answer was lost.
		Inconsistency: streamtest.Inconsistency{Window: 500 * time.Millisecond, Chance: 0.2},
		EmptyPages:    0.1,
		Latency:       4 * time.Millisecond,
		Faults:        map[string]streamtest.FaultRates{"Scan": often, "DescribeStream": often, "GetShardIterator": often, "GetRecords": often, "UpdateItem": often},
	})
	err := s.CreateTable(streamtest.Table{Name: tableName, Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: 4})
	if err != nil {
		return nil, err
	}
	for i := range items {
		if _, err := s.Put(tableName, itemOf(seedID(i), "seed")); err != nil {
			return nil, err
		}
	}
	s.Advance(time.Hour)
	return s, nil
}

func seedID(i int) string { return fmt.Sprintf("item-%06d", i) }

func itemOf(id, version string) streamtest.Item {
	return streamtest.Item{
		"id":      &types.AttributeValueMemberS{Value: id},
		"version": &types.AttributeValueMemberS{Value: version},
		"length":  &types.AttributeValueMemberN{Value: strconv.Itoa(len(id))},
		"body":    &types.AttributeValueMemberS{Value: filler},
	}
}

// scanOrder asks the service where a scan meets each item, before anything changes.
func scanOrder(ctx context.Context, s *streamtest.Service) (map[string]place, error) {
	places := map[string]place{}
	table := dynamodb.NewFromConfig(s.AWSConfig()) // the SDK's client repeats what fails
	for i := range segments {
		in := &dynamodb.ScanInput{
			TableName: aws.String(tableName), Segment: aws.Int32(int32(i)), TotalSegments: aws.Int32(segments),
		}
		for n := 0; ; {
			out, err := table.Scan(ctx, in)
			if err != nil {
				return nil, err
			}
			for _, item := range out.Items {
				places[text(item["id"])] = place{fmt.Sprintf("%d-of-%d", i, segments), n}
				n++
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
	}
	return places, nil
}

func text(v types.AttributeValue) string {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
