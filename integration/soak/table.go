//go:build integration

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	tableName       = "orders"
	checkpointTable = "soak-checkpoints"
	pipeline        = "soak"
	seedVersion     = "seed"
)

// table is the source. It is written to past the proxy.
type table struct {
	client *dynamodb.Client
	items  int

	mu   sync.Mutex
	log  []write
	last map[string]string // version of every item that exists
}

// write is one change that a writer made.
type write struct {
	id      string
	version string // what the item then says; empty: it was removed
	before  string // what it said, empty: it was not there
}

// name is the same for a change and for the line that delivers it.
func (w write) name() string {
	if w.version == "" {
		return w.id + " REMOVE " + w.before
	}
	return w.id + " PUT " + w.version
}

func seedID(i int) string { return fmt.Sprintf("item-%06d", i) }

// newTable makes the table, its stream and its items from before the pipeline.
func newTable(ctx context.Context, client *dynamodb.Client, items int) (*table, error) {
	t := &table{client: client, items: items, last: map[string]string{}}
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	for i := 0; i < items && err == nil; i += 25 {
		var batch []types.WriteRequest
		for j := i; j < min(i+25, items); j++ {
			t.last[seedID(j)] = seedVersion
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(seedID(j), seedVersion)}})
		}
		_, err = client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: batch}})
	}
	return t, err
}

// writers each own every n-th item, so that the changes of one item have one order.
const writers = 4

// write changes items until ctx ends, at the given rate a minute.
func (t *table) write(ctx context.Context, rate int, random func(uint64) *rand.Rand) error {
	var group sync.WaitGroup
	errs := make([]error, writers)
	for n := range writers {
		group.Go(func() {
			r := random(uint64(100 + n))
			next := time.Now()
			for i := 0; ctx.Err() == nil && errs[n] == nil; i++ {
				id := seedID(r.IntN((t.items+t.items/10)/writers)*writers + n) // some are new
				errs[n] = t.change(context.WithoutCancel(ctx), id, fmt.Sprintf("v%d-%d", n, i), r.IntN(8) == 0)
				next = next.Add(time.Minute * writers / time.Duration(rate))
				if late := time.Since(next); late > time.Second {
					next = time.Now() // a server that cannot keep up is not chased
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Until(next)):
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("a writer: %w", err)
		}
	}
	return nil
}

// change removes the item, if it is there and remove is set, or puts it.
func (t *table) change(ctx context.Context, id, version string, remove bool) error {
	before := t.version(id)
	var err error
	if remove && before != "" {
		version = ""
		_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: key(id)})
	} else {
		_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item(id, version)})
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, write{id, version, before})
	if version == "" {
		delete(t.last, id)
	} else {
		t.last[id] = version
	}
	return nil
}

func (t *table) version(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[id]
}

func (t *table) written() []write {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log[:len(t.log):len(t.log)]
}

// final is the table at the end, read from the server: id to version.
func (t *table) final(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	pages := dynamodb.NewScanPaginator(t.client, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			versions[text(it["id"])] = text(it["version"])
		}
	}
	if !maps.Equal(versions, t.last) {
		return nil, fmt.Errorf("the table does not hold what was written: %d items, want %d", len(versions), len(t.last))
	}
	return versions, nil
}

func item(id, version string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: id}, "version": &types.AttributeValueMemberS{Value: version},
	}
}

func key(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}
