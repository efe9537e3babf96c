package tablescan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// row is one item's state: its key and version.
type row struct {
	key     string
	version int
}

// both is a source of a table and its stream.
type both struct {
	table  *streamtest.Service
	scan   *Scanner
	stream *streamreader.Reader
}

func (b *both) PlanBackfill(ctx context.Context) (backfill.Plan, error) {
	p, err := b.scan.PlanBackfill(ctx)
	p.Anchor = b.table.StreamARN("t")
	return p, err
}

func (b *both) StartBackfill(ctx context.Context, run backfill.Run) error {
	var err error
	b.stream, err = streamreader.New(streamreader.Config{
		Client: b.table.Streams(), StreamARN: run.Plan.Anchor, Committer: run.Committer,
		// "Latest" without Freshness: from the oldest record on, less what is
		// older than the plan.
		Origin: checkpoint.Origin{Start: checkpoint.StartLatest, Time: run.Plan.StartTime, Source: run.Plan.Anchor},
	})
	if err != nil {
		return err
	}
	return b.scan.StartBackfill(ctx, run)
}

func (b *both) ReadBackfill(ctx context.Context) ([]row, backfill.AckFunc, error) {
	p, ack, err := b.scan.Read(ctx)
	var rows []row
	for _, it := range p.Items {
		rows = append(rows, rowOf(it["id"].(*types.AttributeValueMemberS).Value, it["n"].(*types.AttributeValueMemberN).Value))
	}
	return rows, ack, err
}

func (b *both) ReadStream(ctx context.Context) ([]row, backfill.AckFunc, error) {
	batch, ack, err := b.stream.Read(ctx)
	var rows []row
	for _, r := range batch.Records {
		im := r.Dynamodb.NewImage
		rows = append(rows, rowOf(im["id"].(*streamtypes.AttributeValueMemberS).Value, im["n"].(*streamtypes.AttributeValueMemberN).Value))
	}
	return rows, ack, err
}

func (b *both) Close(ctx context.Context) error {
	err := b.scan.Close(ctx)
	if b.stream != nil {
		err = errors.Join(err, b.stream.Close(ctx))
	}
	return err
}

func rowOf(key, version string) row {
	v, err := strconv.Atoi(version)
	if err != nil {
		panic(err)
	}
	return row{key, v}
}

// killable is a store that a dead process no longer reaches.
type killable struct {
	checkpoint.Store
	dead atomic.Bool
}

func (k *killable) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	if k.dead.Load() {
		return errors.New("test: the process is dead")
	}
	return k.Store.Save(ctx, cp)
}

// The whole: a table that is written while it is scanned, a stream that rotates,
// processes that die at any moment, and one that lives. In the end the other
// side has what the table has.
func TestTableAndStreamArriveWhateverDies(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				table, mem := streamtest.New(streamtest.Config{Seed: seed}), checkpoint.NewMemory()
				require.NoError(t, table.CreateTable(streamtest.Table{
					Name: "t", Hash: "id", View: types.StreamViewTypeNewImage, Shards: 2,
				}))
				version, sink := map[string]int{}, map[string]int{}
				write := func() {
					key := strconv.Itoa(rnd.IntN(40))
					version[key]++
					_, err := table.Put("t", streamtest.Item{
						"id": str(key), "n": &types.AttributeValueMemberN{Value: strconv.Itoa(version[key])},
					})
					require.NoError(t, err)
				}
				for range 60 {
					write()
				}
				time.Sleep(time.Minute) // well before the plan's second

				attempt := func(steps int) {
					store := &killable{Store: mem}
					c := committer(store)
					scan, err := New(Config{Client: table.Dynamo(), Table: "t", Segments: 1 + rnd.IntN(4), Limit: 3, MaxInFlight: 8})
					require.NoError(t, err)
					r, err := backfill.New[[]row](&both{table: table, scan: scan}, backfill.Config{Committer: c, Retention: 24 * time.Hour})
					require.NoError(t, err)
					idle := 0
					for i := 0; i != steps && idle < 3; i++ {
						if steps > 0 && rnd.IntN(3) == 0 {
							write()
						}
						if rnd.IntN(25) == 0 {
							require.NoError(t, table.Rotate("t"))
						}
						ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
						rows, ack, err := r.Read(ctx)
						cancel()
						switch {
						case errors.Is(err, context.DeadlineExceeded):
							idle++
							continue
						case errors.Is(err, backfill.ErrFlush):
							continue
						}
						require.NoError(t, err)
						idle = 0
						for _, x := range rows {
							sink[x.key] = x.version
						}
						if rnd.IntN(10) > 0 {
							require.NoError(t, ack(context.Background(), nil))
						} else if steps < 0 {
							require.NoError(t, ack(context.Background(), nil))
						}
						time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond)
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					if steps > 0 {
						store.dead.Store(true)
						cancel()
					} else {
						require.Equal(t, backfill.Streaming, r.Phase())
					}
					err = errors.Join(r.Close(ctx), c.Close(ctx))
					if steps < 0 {
						require.NoError(t, err)
					}
				}
				for range rnd.IntN(5) {
					attempt(1 + rnd.IntN(40))
				}
				attempt(-1)
				require.Equal(t, version, sink)
			})
		})
	}
}

// An attempt that was superseded as it opened its segments takes them from the
// newest: each is told what it is.
func TestAttemptOvertakenAsItOpensItsSegments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		table, mem := fill(t, "S", 30), checkpoint.NewMemory()
		runner := func(store checkpoint.Store) *backfill.Runner[Page] {
			scan, err := New(Config{Client: table.Dynamo(), Table: "t", Segments: 2, Limit: 2})
			require.NoError(t, err)
			c := committer(store)
			r, err := backfill.New(backfill.BackfillOnly[Page](scan), backfill.Config{Committer: c, Mode: backfill.BackfillOnlyMode})
			require.NoError(t, err)
			t.Cleanup(func() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, _ = r.Close(ctx), c.Close(ctx)
			})
			return r
		}
		end := func(r *backfill.Runner[Page]) error {
			for {
				_, ack, err := r.Read(context.Background())
				switch {
				case errors.Is(err, backfill.ErrFlush):
				case err != nil:
					return err
				default:
					_ = ack(context.Background(), nil)
					time.Sleep(20 * time.Millisecond) // for saves to find out
				}
			}
		}
		newest := runner(mem)
		older := runner(&overtaking{Store: mem, newer: func() {
			_, ack, err := newest.Read(context.Background())
			require.NoError(t, err)
			require.NoError(t, ack(context.Background(), nil))
		}})
		_, _, err := older.Read(context.Background())
		require.ErrorIs(t, err, backfill.ErrSuperseded, "before its first page")
		err = end(newest)
		require.ErrorIs(t, err, backfill.ErrDisplaced)
		require.NotErrorIs(t, err, backfill.ErrSuperseded)
		require.ErrorIs(t, end(runner(mem)), backfill.ErrEnd)
	})
}

// overtaking is the store of a process that is paused before it claims its first
// segment, while a newer one begins.
type overtaking struct {
	checkpoint.Store
	once  sync.Once
	newer func()
}

func (o *overtaking) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	if strings.Contains(key.Partition, "/segment/") {
		o.once.Do(o.newer)
	}
	return o.Store.Claim(ctx, key, owner)
}
