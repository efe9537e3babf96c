//go:build integration

package ddbcdc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/integration/servers"
)

const (
	tableName       = "orders"
	checkpointTable = "ackgate-checkpoints"
	pipeline        = "orders-to-file"
	items           = 1500
	changes         = 900
)

// standsStill is when an output that grows no more is taken for all there will be.
const standsStill = 15 * time.Second

func TestMoto(t *testing.T) {
	binary := build(t)
	server, err := servers.StartMoto(t.Context()) // once: it takes seconds
	require.NoError(t, err)
	defer server.Stop()
	t.Run("input faults", func(t *testing.T) { inputFaults(t, server, binary) })
	t.Run("nothing is lost", func(t *testing.T) { nothingIsLost(t, server, binary) })
}

// nothingIsLost: backfill and stream with three kills in each phase; then
// everything written must have been delivered.
func nothingIsLost(t *testing.T, server *servers.Server, binary string) {
	table := newTable(t, server.DynamoDB())
	out := &output{path: filepath.Join(t.TempDir(), "orders.jsonl")}
	run := func() *process {
		return start(t, server, binary, "-table", tableName, "-pipeline", pipeline, "-out", out.path,
			// A slow output and quick commits: a position that ran ahead of what is
			// safe would be caught by a kill.
			"-page-size", "20", "-linger", "150ms", "-commit-interval", "50ms", "-discovery", "1s", "-progress", "1s")
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := run()
	until(t, p, "the backfill's plan", time.Minute, func() bool { return hasRow(t, table.client, "backfill/1/plan") })
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		table.change(ctx, changes, rand.New(rand.NewPCG(seed, 1)))
	}()
	defer func() { cancel(); <-written }()

	killed := map[bool]int{} // by whether the stream had begun
	for _, point := range []struct{ rows, changes int }{
		{100 + random.IntN(200), 0},
		{400 + random.IntN(200), 0},
		{700 + random.IntN(200), 0},
		{0, 50 + random.IntN(200)},
		{0, 300 + random.IntN(200)},
		{0, 550 + random.IntN(200)},
	} {
		before := len(out.lines)
		until(t, p, "the next kill", 2*time.Minute, func() bool {
			rows, changes := out.distinct(t)
			return rows >= point.rows && changes >= point.changes && len(out.lines) > before
		})
		time.Sleep(time.Duration(random.IntN(170)) * time.Millisecond) // anywhere between read and save
		p.kill()
		killed[hasRow(t, table.client, "backfill/1/done")]++
		p = run()
	}
	require.GreaterOrEqual(t, killed[false], 2, "too few kills hit the backfill")
	require.GreaterOrEqual(t, killed[true], 2, "too few kills hit the stream")

	have, grew := 0, time.Now()
	until(t, p, "the end", 2*time.Minute, func() bool {
		select {
		case <-written:
		default:
			return false
		}
		lines := out.read(t)
		if len(lines) > have {
			have, grew = len(lines), time.Now()
		}
		return len(table.missing(lines)) == 0 || time.Since(grew) > standsStill
	})
	require.NoError(t, table.err)
	require.Equal(t, 0, p.stop(t), "SIGTERM: %s", p.stderr.String())

	lines := out.read(t)
	missing := table.missing(lines)
	require.Empty(t, missing[:min(5, len(missing))], "lost %d, the first of them", len(missing))
	require.Equal(t, table.scan(t), replay(lines), "whoever applies all lines must end with the table")
	rows, delivered := out.distinct(t)
	t.Logf("%d rows and %d changes delivered in %d lines, %d kills", rows, delivered, len(lines), killed[false]+killed[true])
}

// inputFaults: one sentence with a remedy, exit code 2.
func inputFaults(t *testing.T, server *servers.Server, binary string) {
	createTable(t, server.DynamoDB(), "silent", nil)
	createTable(t, server.DynamoDB(), "audible", stream)
	for _, tc := range []struct {
		says string
		args []string
	}{
		{"there is no table nowhere", []string{"-table", "nowhere", "-pipeline", "p"}},
		{"table silent has no stream: enable it with: aws dynamodb update-table", []string{"-table", "silent", "-pipeline", "p"}},
		{"cannot be written", []string{"-table", "audible", "-pipeline", "p", "-out", t.TempDir()}},
		{"does not answer", []string{"-table", "audible", "-pipeline", "p", "-endpoint", "http://127.0.0.1:1"}},
	} {
		p := start(t, server, binary, tc.args...)
		require.Equal(t, 2, p.code(t), "%s", p.stderr.String())
		require.Contains(t, p.stderr.String(), tc.says)
		require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "%s", p.stderr.String())
	}
}

// table is the source, and what its one writer did to it.
type table struct {
	client  *dynamodb.Client
	version map[string]string // of every item that exists
	owed    []string          // what the stream has to deliver, as change.String
	err     error             // of the writer, once it has ended
}

func newTable(t *testing.T, client *dynamodb.Client) *table {
	t.Helper()
	createTable(t, client, tableName, stream)
	tb := &table{client: client, version: map[string]string{}}
	for i := 0; i < items; i += 25 {
		var batch []types.WriteRequest
		for j := i; j < i+25; j++ {
			tb.version[itemID(j)] = "seed"
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(itemID(j), "seed")}})
		}
		_, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: batch}})
		require.NoError(t, err)
	}
	return tb
}

var stream = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}

func createTable(t *testing.T, client *dynamodb.Client, name string, stream *types.StreamSpecification) {
	t.Helper()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, StreamSpecification: stream,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
	})
	require.NoError(t, err)
}

// change writes until n changes are made.
func (tb *table) change(ctx context.Context, n int, r *rand.Rand) {
	for i := range n {
		id := itemID(r.IntN(items + 100)) // some are new
		before, exists := tb.version[id]
		if exists && r.IntN(8) == 0 {
			_, tb.err = tb.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: key(id)})
			delete(tb.version, id)
			tb.owed = append(tb.owed, fmt.Sprintf("%s REMOVE %s", id, before))
		} else {
			version := fmt.Sprint("v", i)
			_, tb.err = tb.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item(id, version)})
			tb.version[id] = version
			tb.owed = append(tb.owed, fmt.Sprintf("%s PUT %s", id, version))
		}
		if tb.err != nil {
			return
		}
	}
}

// missing is what was written and does not stand in the lines. It may be
// called once the writer has ended.
func (tb *table) missing(lines []line) []string {
	rows, changes := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		id := l.Keys["id"].S
		switch {
		case l.Phase == "backfill":
			rows[id] = true
		case l.Event == "REMOVE":
			changes[fmt.Sprintf("%s REMOVE %s", id, l.Old["version"].S)] = true
		default:
			changes[fmt.Sprintf("%s PUT %s", id, l.New["version"].S)] = true
		}
	}
	var missing []string
	removed := map[string]bool{}
	for _, c := range tb.owed {
		if !changes[c] {
			missing = append(missing, "change "+c)
		}
		if id, rest, _ := strings.Cut(c, " "); strings.HasPrefix(rest, "REMOVE") {
			removed[id] = true // then the scan may rightly have missed it
		}
	}
	for i := range items {
		if id := itemID(i); !rows[id] && !removed[id] {
			missing = append(missing, "row "+id)
		}
	}
	return missing
}

// scan is the table at the end: id to version.
func (tb *table) scan(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	pages := dynamodb.NewScanPaginator(tb.client, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, it := range page.Items {
			versions[text(it["id"])] = text(it["version"])
		}
	}
	require.Equal(t, tb.version, versions, "the writer's own book")
	return versions
}

func replay(lines []line) map[string]string {
	versions := map[string]string{}
	for _, l := range lines {
		if id := l.Keys["id"].S; l.Event == "REMOVE" {
			delete(versions, id)
		} else {
			versions[id] = l.New["version"].S
		}
	}
	return versions
}

// hasRow reports whether the pipeline's row exists and is complete.
func hasRow(t *testing.T, client *dynamodb.Client, partition string) bool {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(checkpointTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{
			"pipeline": &types.AttributeValueMemberS{Value: pipeline}, "partition": &types.AttributeValueMemberS{Value: partition},
		},
	})
	if err != nil {
		require.ErrorContains(t, err, "ResourceNotFoundException") // the program has not made the table yet
		return false
	}
	complete, _ := out.Item["complete"].(*types.AttributeValueMemberBOOL)
	return complete != nil && complete.Value
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
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
