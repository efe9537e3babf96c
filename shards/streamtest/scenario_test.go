package streamtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/cockroachdb/datadriven"

	"github.com/ackgate/ackgate/shards/streamtest"
)

// stage plays the scenarios of testdata. Shards are called s0, s1, … in the
// order they were opened, iterators as the scenario names them.
type stage struct {
	s         *streamtest.Service
	ids       []string
	iterators map[string]*string
	numbers   map[string]string // sequence number of an item's last change
}

func (g *stage) name(id string) string {
	if id == "" {
		return "none"
	}
	for i, known := range g.ids {
		if known == id {
			return fmt.Sprint("s", i)
		}
	}
	g.ids = append(g.ids, id)
	return fmt.Sprint("s", len(g.ids)-1)
}

func (g *stage) learn() {
	for _, sh := range g.s.Shards("orders") {
		g.name(sh.ID)
	}
}

func (g *stage) shard(t *testing.T, d *datadriven.TestData) string {
	var i int
	var name string
	d.ScanArgs(t, "shard", &name)
	if _, err := fmt.Sscanf(name, "s%d", &i); err != nil || i >= len(g.ids) {
		d.Fatalf(t, "no shard %s", name)
	}
	return g.ids[i]
}

func oneLine(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return "error: " + api.ErrorCode()
	}
	return "error: " + err.Error()
}

func (g *stage) run(t *testing.T, d *datadriven.TestData) string {
	answer, err := g.command(t, d)
	if err != nil {
		return oneLine(err) + "\n"
	}
	return answer
}

func (g *stage) command(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "table":
		shards := 1
		d.MaybeScanArgs(t, "shards", &shards)
		g.s = streamtest.New(streamtest.Config{Now: fixed})
		g.ids, g.iterators, g.numbers = nil, map[string]*string{}, map[string]string{}
		err := g.s.CreateTable(streamtest.Table{Name: "orders", Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: shards})
		g.learn()
		return "ok\n", err
	case "put", "delete":
		var b strings.Builder
		for _, arg := range d.CmdArgs {
			item := streamtest.Item{"id": str(arg.Key)}
			write := g.s.Delete
			if d.Cmd == "put" {
				item["total"], write = &types.AttributeValueMemberN{Value: arg.Vals[0]}, g.s.Put
			}
			c, err := write("orders", item)
			if err != nil {
				return "", err
			}
			if c.ShardID != "" {
				g.numbers[arg.Key] = c.SequenceNumber
			}
			fmt.Fprintf(&b, "%s in %s\n", arg.Key, g.name(c.ShardID))
		}
		return b.String(), nil
	case "rotate":
		err := g.s.Rotate("orders")
		g.learn()
		return "ok\n", err
	case "split":
		_, err := g.s.Split("orders", g.shard(t, d))
		g.learn()
		return "ok\n", err
	case "wait":
		var age time.Duration
		for _, arg := range d.CmdArgs {
			age, _ = time.ParseDuration(arg.Key)
		}
		g.s.Advance(age)
		return "ok\n", nil
	case "disable":
		return "ok\n", g.s.DisableStream("orders")
	case "shards":
		return g.list(t)
	case "iterator":
		var name, typ, after string
		d.ScanArgs(t, "name", &name)
		d.ScanArgs(t, "type", &typ)
		in := &dynamodbstreams.GetShardIteratorInput{ShardIteratorType: streams.ShardIteratorType(typ)}
		if d.MaybeScanArgs(t, "of", &after) {
			number := g.numbers[after]
			in.SequenceNumber = &number
		}
		arn, shard := g.s.StreamARN("orders"), g.shard(t, d)
		in.StreamArn, in.ShardId = &arn, &shard
		out, err := g.s.Streams().GetShardIterator(t.Context(), in)
		if err != nil {
			return "", err
		}
		g.iterators[name] = out.ShardIterator
		return "ok\n", nil
	case "read":
		return g.read(t, d)
	}
	return "", fmt.Errorf("no command %s", d.Cmd)
}

func (g *stage) list(t *testing.T) (string, error) {
	arn := g.s.StreamARN("orders")
	out, err := g.s.Streams().DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintln(&b, out.StreamDescription.StreamStatus)
	for _, sh := range out.StreamDescription.Shards {
		state, parent := "open", ""
		if sh.SequenceNumberRange.EndingSequenceNumber != nil {
			state = "closed"
		}
		if sh.ParentShardId != nil {
			parent = " child of " + g.name(*sh.ParentShardId)
		}
		fmt.Fprintf(&b, "%s %s%s\n", g.name(*sh.ShardId), state, parent)
	}
	return b.String(), nil
}

// read makes one GetRecords call and keeps its iterator under the same name.
func (g *stage) read(t *testing.T, d *datadriven.TestData) (string, error) {
	var name string
	limit := int32(1000)
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "limit", &limit)
	out, err := g.s.Streams().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: g.iterators[name], Limit: &limit})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range out.Records {
		total := func(image map[string]streams.AttributeValue) string {
			if n, ok := image["total"].(*streams.AttributeValueMemberN); ok {
				return n.Value
			}
			return "none"
		}
		fmt.Fprintf(&b, "%s %s %s->%s\n", r.EventName, r.Dynamodb.Keys["id"].(*streams.AttributeValueMemberS).Value, total(r.Dynamodb.OldImage), total(r.Dynamodb.NewImage))
	}
	if g.iterators[name] = out.NextShardIterator; out.NextShardIterator == nil {
		b.WriteString("end of shard\n")
	} else {
		b.WriteString("more to come\n")
	}
	return b.String(), nil
}

func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		g := &stage{}
		datadriven.RunTest(t, path, g.run)
	})
}
