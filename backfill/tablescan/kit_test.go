package tablescan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/keymap"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keyOf makes the i-th key of each kind of table.
var kinds = map[string]struct {
	table streamtest.Table
	key   func(i int) streamtest.Item
}{
	"S": {
		streamtest.Table{Name: "t", Hash: "id"},
		func(i int) streamtest.Item { return streamtest.Item{"id": str(fmt.Sprintf("k-%d", i))} },
	},
	"N": {
		streamtest.Table{Name: "t", Hash: "id", HashType: types.ScalarAttributeTypeN},
		func(i int) streamtest.Item {
			return streamtest.Item{"id": &types.AttributeValueMemberN{Value: fmt.Sprintf("%d.5", i-50)}}
		},
	},
	"B": {
		streamtest.Table{Name: "t", Hash: "id", HashType: types.ScalarAttributeTypeB},
		func(i int) streamtest.Item {
			return streamtest.Item{"id": &types.AttributeValueMemberB{Value: []byte{0, 0xff, byte(i >> 8), byte(i)}}}
		},
	},
	"S and N": {
		streamtest.Table{Name: "t", Hash: "id", Range: "at", RangeType: types.ScalarAttributeTypeN},
		func(i int) streamtest.Item {
			return streamtest.Item{
				"id": str(fmt.Sprintf("k-%d", i/7)), "at": &types.AttributeValueMemberN{Value: fmt.Sprint(i % 7)},
			}
		},
	},
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// fill makes a table of n items, each with its number in "n".
func fill(t testing.TB, kind string, n int) *streamtest.Service {
	s := streamtest.New(streamtest.Config{})
	require.NoError(t, s.CreateTable(kinds[kind].table))
	for i := range n {
		item := kinds[kind].key(i)
		item["n"] = &types.AttributeValueMemberN{Value: fmt.Sprint(i)}
		item["text"] = str("some text")
		_, err := s.Put("t", item)
		require.NoError(t, err)
	}
	return s
}

// spy is a Client that remembers what was asked, and may answer for the table.
type spy struct {
	Client
	scan     func(n int, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error)
	describe func(out *dynamodb.DescribeTableOutput) error

	mu       sync.Mutex
	requests []dynamodb.ScanInput
}

func (s *spy) Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	s.mu.Lock()
	s.requests = append(s.requests, *in)
	n := len(s.requests)
	s.mu.Unlock()
	if s.scan != nil {
		if out, err := s.scan(n, in); out != nil || err != nil {
			return out, err
		}
	}
	return s.Client.Scan(ctx, in, opts...)
}

func (s *spy) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := s.Client.DescribeTable(ctx, in, opts...)
	if err == nil && s.describe != nil {
		err = s.describe(out)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *spy) asked() []dynamodb.ScanInput {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]dynamodb.ScanInput(nil), s.requests...)
}

// started is a Scanner on its way, driven without a Runner.
type started struct {
	*Scanner
	t   testing.TB
	c   *checkpoint.Committer
	run backfill.Run
}

func committer(store checkpoint.Store) *checkpoint.Committer {
	return checkpoint.NewCommitter(store, "p", checkpoint.Interval(10*time.Millisecond), checkpoint.Logger(slog.New(slog.DiscardHandler)))
}

func start(t testing.TB, store checkpoint.Store, cfg Config, plan *backfill.Plan) *started {
	ctx := context.Background()
	if cfg.Table == "" {
		cfg.Table = "t"
	}
	s, err := New(cfg)
	require.NoError(t, err)
	if plan.Segments == 0 {
		*plan, err = s.PlanBackfill(ctx)
		require.NoError(t, err)
	}
	c := committer(store)
	st := &started{Scanner: s, t: t, c: c, run: backfill.Run{Plan: *plan, Generation: 1, Attempt: 1, Phase: backfill.Backfilling, Committer: c}}
	require.NoError(t, s.StartBackfill(ctx, st.run))
	return st
}

func (s *started) end() {
	require.NoError(s.t, s.Close(context.Background()))
	require.NoError(s.t, s.c.Close(context.Background()))
}

// crash ends without making anything more durable.
func (s *started) crash() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.attempt().end()
	_ = s.c.Close(ctx)
}

// all reads and acks to the end, counting each item's deliveries.
func (s *started) all(seen map[string]int) {
	for {
		p, ack, err := s.Read(context.Background())
		if errors.Is(err, backfill.ErrBackfillComplete) {
			return
		}
		require.NoError(s.t, err)
		require.NotEmpty(s.t, p.Items)
		for _, it := range p.Items {
			seen[it["n"].(*types.AttributeValueMemberN).Value]++
		}
		require.NoError(s.t, ack(context.Background(), nil))
	}
}

// rows are the segments' rows.
func rows(t testing.TB, store checkpoint.Store) (out []checkpoint.Checkpoint) {
	for row, err := range store.List(context.Background(), "p", "backfill/1/segment/") {
		require.NoError(t, err)
		out = append(out, row)
	}
	return out
}

func position(t testing.TB, row checkpoint.Checkpoint) keymap.Key {
	key, err := keymap.Codec{}.Decode(row.Position)
	require.NoError(t, err)
	return key
}

func int32p(n int32) *int32 { return aws.Int32(n) }
