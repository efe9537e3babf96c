package tablescan

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/backfill"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestEveryItemOfEverySegmentOnce(t *testing.T) {
	for kind := range kinds {
		for _, segments := range []int{1, 2, 7, 1000} {
			t.Run(fmt.Sprintf("%s in %d", kind, segments), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					store, seen := checkpoint.NewMemory(), map[string]int{}
					s := start(t, store, Config{Client: fill(t, kind, 150).Dynamo(), Segments: segments, Limit: 4}, &backfill.Plan{})
					s.all(seen)
					p := s.Progress()
					s.end()
					require.Len(t, seen, 150)
					for n, times := range seen {
						require.Equal(t, 1, times, n)
					}
					require.Equal(t, segments, p.SegmentsDone)
					require.EqualValues(t, 150, p.Rows)
					require.Len(t, rows(t, store), segments)
					for _, row := range rows(t, store) {
						require.True(t, row.Complete, row)
						if row.Position != "" {
							require.Len(t, position(t, row), len(kinds[kind].key(0)), "no key: %s", row.Position)
						}
					}
				})
			})
		}
	}
}

func TestEmptyTableCompletes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := checkpoint.NewMemory()
		s := start(t, store, Config{Client: fill(t, "S", 0).Dynamo(), Segments: 3}, &backfill.Plan{})
		s.all(map[string]int{})
		s.end()
		for _, row := range rows(t, store) {
			require.True(t, row.Complete)
			require.Empty(t, row.Position, "no placeholder is ever committed as a position")
		}
	})
}

// A crash between pages: what was settled is not read again, what was not is.
func TestB8_SegmentResumesBehindItsLastCommittedKey(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx := context.Background()
				table, store, seen := fill(t, kind, 60), checkpoint.NewMemory(), map[string]int{}
				var plan backfill.Plan
				// One worker: pages come segment by segment.
				cfg := Config{Client: table.Dynamo(), Segments: 3, Parallel: 1, MaxInFlight: 100, Limit: 5}
				s := start(t, store, cfg, &plan)
				var acks []backfill.AckFunc
				settled := map[string]bool{}
				for i := range 8 {
					p, ack, err := s.Read(ctx)
					require.NoError(t, err)
					acks = append(acks, ack)
					for _, it := range p.Items {
						n := it["n"].(*types.AttributeValueMemberN).Value
						seen[n]++
						settled[n] = i < 6 && i != 5
					}
				}
				for i, ack := range acks[:7] {
					if i == 5 {
						continue // never settled: pins its segment
					}
					require.NoError(t, ack(ctx, nil))
				}
				time.Sleep(time.Second)
				s.crash()
				for _, ack := range acks {
					require.Error(t, ack(ctx, nil), "an ack of a dead attempt")
				}

				watch := &spy{Client: table.Dynamo()}
				cfg.Client, cfg.Segments = watch, 1 // the plan's three win
				again := start(t, store, cfg, &plan)
				before := rows(t, store)
				again.all(seen)
				again.end()

				first := map[int32]bool{}
				for _, in := range watch.asked() {
					require.Equal(t, int32(3), *in.TotalSegments)
					if first[*in.Segment] {
						continue
					}
					first[*in.Segment] = true
					row := before[*in.Segment]
					require.False(t, row.Complete, "a complete segment is read again")
					if row.Position == "" {
						require.Empty(t, in.ExclusiveStartKey)
					} else {
						require.Equal(t, position(t, row), in.ExclusiveStartKey)
					}
				}
				require.Len(t, seen, 60)
				for n, times := range seen {
					if settled[n] {
						require.Equal(t, 1, times, "item %s was settled and durable, and is read again", n)
					}
				}
			})
		})
	}
}

// A filter, or a page limit that deletes hit, gives pages without items and with
// a key. They are no end, and they are progress.
func TestEmptyPagesWithAKeyAreProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		table, store, seen := fill(t, "S", 40), checkpoint.NewMemory(), map[string]int{}
		c := &spy{Client: table.Dynamo()}
		var hidden int
		c.scan = func(n int, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
			if n%3 == 0 {
				return nil, nil
			}
			out, err := table.Dynamo().Scan(context.Background(), in)
			if err == nil && len(out.LastEvaluatedKey) > 0 {
				hidden += len(out.Items)
				out.Items = nil
			}
			return out, err
		}
		s := start(t, store, Config{Client: c, Segments: 2, Parallel: 1, Limit: 3}, &backfill.Plan{})
		s.all(seen)
		s.end()
		require.Positive(t, hidden)
		require.Len(t, seen, 40-hidden)
		for _, row := range rows(t, store) {
			require.True(t, row.Complete)
		}
	})
}

func TestThrottlingAndServerFaultsBackOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		table, store, seen := fill(t, "S", 100), checkpoint.NewMemory(), map[string]int{}
		table.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: 0.2, LimitExceeded: 0.1, Internal: 0.2, Cut: 0.1, LostAnswer: 0.1}})
		var told int
		s := start(t, store, Config{Client: table.Dynamo(), Segments: 4, Parallel: 1, Limit: 5, OnRetry: func(_ int, err error, n int) {
			told++
			require.Error(t, err)
			require.Positive(t, n)
		}}, &backfill.Plan{})
		s.all(seen)
		p := s.Progress()
		s.end()
		require.Len(t, seen, 100)
		require.Positive(t, told)
		require.EqualValues(t, told, p.Retries)
	})
}

func TestReadUnitsBoundTheMean(t *testing.T) {
	for _, units := range []float64{5, 40.5} {
		t.Run(fmt.Sprint(units), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				table, store := fill(t, "S", 400), checkpoint.NewMemory()
				c := &spy{Client: table.Dynamo()}
				c.scan = func(_ int, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
					out, err := table.Dynamo().Scan(context.Background(), in)
					if err == nil {
						out.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(7.5)}
					}
					return out, err
				}
				s := start(t, store, Config{Client: c, Segments: 4, Limit: 5, ReadUnits: units}, &backfill.Plan{})
				began := time.Now()
				s.all(map[string]int{})
				took := time.Since(began).Seconds()
				used := s.Progress().Units
				s.end()
				require.GreaterOrEqual(t, used, 600.0)
				// Behind by the burst of one second and a page for each reader.
				require.LessOrEqual(t, used, units*(took+1)+4*7.5)
				require.GreaterOrEqual(t, used, units*(took-1), "slower than it may be")
			})
		})
	}
}

func TestRequestSaysWhatTheConfigSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := &spy{Client: fill(t, "S", 3).Dynamo()}
		s := start(t, checkpoint.NewMemory(), Config{
			Client: c, Limit: 2, EventuallyConsistent: true, Projection: "#n, id", Names: map[string]string{"#n": "n"},
		}, &backfill.Plan{})
		p, _, err := s.Read(context.Background())
		require.NoError(t, err)
		require.NotContains(t, p.Items[0], "text")
		s.end()
		in := c.asked()[0]
		require.Equal(t, int32p(2), in.Limit)
		require.False(t, *in.ConsistentRead)
		require.Equal(t, "#n, id", *in.ProjectionExpression)
		require.Nil(t, in.TotalSegments, "one segment is a plain scan")
		require.Equal(t, types.ReturnConsumedCapacityTotal, in.ReturnConsumedCapacity)
	})
}

func TestMaxInFlightAsksForAFlush(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := context.Background()
		s := start(t, checkpoint.NewMemory(), Config{Client: fill(t, "S", 30).Dynamo(), MaxInFlight: 3, Limit: 2}, &backfill.Plan{})
		var acks []backfill.AckFunc
		for range 3 {
			_, ack, err := s.Read(ctx)
			require.NoError(t, err)
			acks = append(acks, ack)
		}
		require.Equal(t, 3, s.Progress().InFlight)
		for range 2 {
			began := time.Now()
			_, _, err := s.Read(ctx)
			require.ErrorIs(t, err, backfill.ErrFlush)
			require.Equal(t, time.Second, time.Since(began))
		}
		require.NoError(t, acks[1](ctx, nil))
		_, _, err := s.Read(ctx)
		require.NoError(t, err)
		s.crash()
	})
}

func TestNackPinsAndMayBeAckedAfterAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, store := context.Background(), checkpoint.NewMemory()
		s := start(t, store, Config{Client: fill(t, "S", 6).Dynamo(), Limit: 3}, &backfill.Plan{})
		_, first, err := s.Read(ctx)
		require.NoError(t, err)
		_, second, err := s.Read(ctx)
		require.NoError(t, err)
		require.NoError(t, first(ctx, errors.New("refused")))
		require.NoError(t, second(ctx, nil))
		require.ErrorIs(t, second(ctx, nil), backfill.ErrStale)
		require.NoError(t, s.c.Flush(ctx))
		require.Empty(t, rows(t, store)[0].Position)
		require.NoError(t, first(ctx, nil))
		require.NoError(t, s.c.Flush(ctx))
		require.NotEmpty(t, rows(t, store)[0].Position)
		s.end()
	})
}

func TestTableThatWentOrWasReplaced(t *testing.T) {
	missing := &types.ResourceNotFoundException{Message: aws.String("no such table")}
	bubble(t, func(t *testing.T) {
		ctx := context.Background()
		s, err := New(Config{Client: streamtest.New(streamtest.Config{}).Dynamo(), Table: "t"})
		require.NoError(t, err)
		_, err = s.PlanBackfill(ctx)
		require.ErrorIs(t, err, ErrTableGone)
		_, _, err = s.Read(ctx)
		require.ErrorIs(t, err, ErrNotStarted)
	})
	t.Run("in the middle", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := &spy{Client: fill(t, "S", 30).Dynamo()}
			c.scan = func(n int, _ *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
				if n > 3 {
					return nil, missing
				}
				return nil, nil
			}
			s := start(t, checkpoint.NewMemory(), Config{Client: c, Limit: 2}, &backfill.Plan{})
			require.ErrorIs(t, readErr(s), ErrTableGone)
			s.crash()
		})
	})
	for _, when := range []string{"before an attempt", "at the end", "while it is scanned"} {
		t.Run("replaced "+when, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, id := &spy{Client: fill(t, "S", 30).Dynamo()}, "first"
				c.describe = func(out *dynamodb.DescribeTableOutput) error {
					out.Table.TableId = aws.String(id)
					return nil
				}
				var plan backfill.Plan
				cfg := Config{Client: c, Limit: 2, CheckEvery: time.Hour}
				if when == "while it is scanned" {
					cfg.CheckEvery = time.Nanosecond
					c.scan = func(n int, _ *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
						time.Sleep(time.Millisecond)
						if n == 3 {
							id = "second"
						}
						return nil, nil
					}
				}
				s := start(t, checkpoint.NewMemory(), cfg, &plan)
				switch when {
				case "before an attempt":
					s.crash()
					id = "second"
					require.ErrorIs(t, s.StartBackfill(context.Background(), s.run), ErrTableReplaced)
					return
				case "at the end":
					_, ack, err := s.Read(context.Background())
					require.NoError(t, err)
					require.NoError(t, ack(context.Background(), nil))
					id = "second"
				}
				require.ErrorIs(t, readErr(s), ErrTableReplaced)
				if when == "while it is scanned" {
					require.Less(t, len(c.asked()), 10, "it went on reading the wrong table")
				}
				s.crash()
			})
		})
	}
}

// readErr acks until Read fails.
func readErr(s *started) error {
	for {
		_, ack, err := s.Read(context.Background())
		if err != nil {
			return err
		}
		if err := ack(context.Background(), nil); err != nil {
			return err
		}
	}
}

func TestRequestThatCannotSucceedIsAnErrorAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := start(t, checkpoint.NewMemory(), Config{Client: fill(t, "S", 3).Dynamo(), Projection: "((("}, &backfill.Plan{})
		began := time.Now()
		err := readErr(s)
		require.ErrorContains(t, err, "ValidationException")
		require.ErrorContains(t, err, `table "t", segment 0 of 1`)
		require.Zero(t, time.Since(began))
		s.crash()
	})
}

// Two attempts at once: the older one's late acks and slow workers neither move
// nor wedge the newer one.
func TestB4_OlderScanIsHarmless(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, table, store := context.Background(), fill(t, "S", 40), checkpoint.NewMemory()
		var plan backfill.Plan
		cfg := Config{Client: table.Dynamo(), Segments: 2, Limit: 3, MaxInFlight: 4}
		old := start(t, store, cfg, &plan)
		_, lateAck, err := old.Read(ctx)
		require.NoError(t, err)
		_, _, err = old.Read(ctx) // never acked
		require.NoError(t, err)

		fresh := start(t, store, cfg, &plan)
		seen := map[string]int{}
		p, ack, err := fresh.Read(ctx)
		require.NoError(t, err)
		for _, it := range p.Items {
			seen[it["n"].(*types.AttributeValueMemberN).Value]++
		}
		_ = lateAck(ctx, nil)
		_ = old.c.Flush(ctx) // finds out that it was fenced
		for _, row := range rows(t, store) {
			require.Empty(t, row.Position, "the older attempt moved a segment")
		}
		require.NoError(t, ack(ctx, nil))
		fresh.all(seen)
		require.Len(t, seen, 40)
		fresh.end()
		for _, row := range rows(t, store) {
			require.True(t, row.Complete)
		}
		require.ErrorIs(t, readErr(old), checkpoint.ErrFenced)
		old.crash()
	})
}

func TestStartingAgainEndsTheEarlierAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := context.Background()
		s := start(t, checkpoint.NewMemory(), Config{Client: fill(t, "S", 40).Dynamo(), Segments: 2, Limit: 3}, &backfill.Plan{})
		_, lateAck, err := s.Read(ctx)
		require.NoError(t, err)
		require.NoError(t, s.StartBackfill(ctx, s.run))
		require.Error(t, lateAck(ctx, nil))
		seen := map[string]int{}
		s.all(seen)
		require.Len(t, seen, 40)
		require.NoError(t, s.Close(ctx))
		_, _, err = s.Read(ctx)
		require.Error(t, err)
		require.NoError(t, s.Close(ctx))
		require.NoError(t, s.c.Close(ctx))
	})
}

func TestETA(t *testing.T) {
	for _, c := range []struct {
		p       Progress
		resumed bool
		before  int
		want    time.Duration
	}{
		{p: Progress{Segments: 4, Rows: 25, EstimatedRows: 100, Elapsed: time.Minute}, want: 3 * time.Minute},
		{p: Progress{Segments: 4, Rows: 0, EstimatedRows: 100, Elapsed: time.Minute}, want: 0},
		{p: Progress{Segments: 4, Rows: 120, EstimatedRows: 100, Elapsed: time.Minute}, want: 0},
		{p: Progress{Segments: 4, SegmentsDone: 4, Rows: 10, EstimatedRows: 100, Elapsed: time.Minute}, want: 0},
		{p: Progress{Segments: 4, SegmentsDone: 2, Rows: 1, EstimatedRows: 100, Elapsed: time.Minute}, resumed: true, before: 1, want: 2 * time.Minute},
		{p: Progress{Segments: 4, SegmentsDone: 1, Rows: 1, EstimatedRows: 100, Elapsed: time.Minute}, resumed: true, before: 1, want: 0},
	} {
		require.Equal(t, c.want, eta(c.p, c.resumed, c.before), "%+v", c.p)
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	client := streamtest.New(streamtest.Config{}).Dynamo()
	for _, cfg := range []Config{
		{},
		{Client: client},
		{Client: client, Table: "t", Segments: 1001},
		{Client: client, Table: "t", Segments: -1},
		{Client: client, Table: "t", ReadUnits: -1},
		{Client: client, Table: "t", Limit: -1},
		{Client: client, Table: "t", Parallel: -1},
		{Client: client, Table: "t", Names: map[string]string{"#a": "a"}},
		{Client: client, Table: "t", Retry: backfill.Backoff{Min: time.Hour, Max: time.Second}},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, "tablescan: ")
	}
}
