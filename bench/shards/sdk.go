package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// sdkPage measures the SDK alone: a GetRecords call whose answer, a page of
// 1,000 records with old and new image of six attributes, is there already.
func sdkPage() func(*testing.B) {
	ctx := context.Background()
	service := streamtest.New(streamtest.Config{})
	must(service.CreateTable(streamtest.Table{Name: "t", Hash: "id", View: ddbtypes.StreamViewTypeNewAndOldImages}))
	for round := range 2 {
		for i := range perPage / 2 {
			_, err := service.Put("t", streamtest.Item{
				"id":    &ddbtypes.AttributeValueMemberS{Value: "customer-" + strconv.Itoa(i)},
				"name":  &ddbtypes.AttributeValueMemberS{Value: fmt.Sprintf("name of customer %d", i)},
				"mail":  &ddbtypes.AttributeValueMemberS{Value: fmt.Sprintf("customer-%d@example.com", i)},
				"total": &ddbtypes.AttributeValueMemberN{Value: strconv.Itoa(1000*round + i)},
				"vip":   &ddbtypes.AttributeValueMemberBOOL{Value: i%2 == 0},
				"tags":  &ddbtypes.AttributeValueMemberSS{Value: []string{"a", "b"}},
			})
			must(err)
		}
	}
	cfg := service.AWSConfig()
	record := &replay{next: cfg.HTTPClient}
	cfg.HTTPClient = record
	client := dynamodbstreams.NewFromConfig(cfg)
	arn := service.StreamARN("t")
	it, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: &service.Shards("t")[0].ID, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	must(err)
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator}
	out, err := client.GetRecords(ctx, in)
	must(err)
	if len(out.Records) != perPage {
		panic(fmt.Sprintf("%d records in the page", len(out.Records)))
	}
	record.replaying = true
	return func(b *testing.B) {
		b.SetBytes(int64(len(record.body)))
		for b.Loop() {
			if _, err := client.GetRecords(ctx, in); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// replay answers every call with the body of the last real answer.
type replay struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	replaying bool
	answer    http.Response
	body      []byte
}

func (r *replay) Do(req *http.Request) (*http.Response, error) {
	if !r.replaying {
		res, err := r.next.Do(req)
		if err != nil {
			return nil, err
		}
		r.body, err = io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		r.answer = *res
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	res := r.answer
	res.Body = io.NopCloser(bytes.NewReader(r.body))
	return &res, nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
