package dynamostore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// Several processes start at once, and the table takes its time: one creates
// it, all wait, and nobody uses it before it is ACTIVE.
func TestEnsureTableIsSafeWhenSeveralRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{CreateDelay: 20 * time.Second, Latency: 10 * time.Millisecond})
		const n = 8
		errs := make(chan error, n)
		begin := time.Now()
		for range n {
			go func() {
				err := dynamostore.EnsureTable(t.Context(), s.Dynamo(), "checkpoints")
				if err == nil {
					_, err = dynamostore.New(s.Dynamo(), "checkpoints").HasAny(t.Context(), "orders")
				}
				errs <- err
			}()
		}
		for range n {
			require.NoError(t, <-errs)
		}
		took := time.Since(begin)
		require.GreaterOrEqual(t, took, 20*time.Second)
		require.LessOrEqual(t, took, 30*time.Second)
		calls := s.Calls()
		require.Equal(t, n, calls["CreateTable"].Calls)
		require.Equal(t, n-1, calls["CreateTable"].Failed)
		require.LessOrEqual(t, calls["DescribeTable"].Calls, n*12, "the pauses grow")
	})
}

func TestEnsureTableWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamtest.New(streamtest.Config{CreateDelay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		require.Equal(t, context.DeadlineExceeded, dynamostore.EnsureTable(ctx, s.Dynamo(), "checkpoints"))
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// tables answers DescribeTable from a list, the last one for ever.
type tables struct {
	described []*types.TableDescription
	create    error
	creates   int
}

func (c *tables) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	d := c.described[0]
	if len(c.described) > 1 {
		c.described = c.described[1:]
	}
	if d == nil {
		return nil, &types.ResourceNotFoundException{}
	}
	return &dynamodb.DescribeTableOutput{Table: d}, nil
}

func (c *tables) CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	c.creates++
	return &dynamodb.CreateTableOutput{}, c.create
}

func described(status types.TableStatus, keys ...string) *types.TableDescription {
	d := &types.TableDescription{TableStatus: status}
	for i := 0; i < len(keys); i += 2 {
		kind := types.KeyTypeHash
		if i > 0 {
			kind = types.KeyTypeRange
		}
		d.KeySchema = append(d.KeySchema, types.KeySchemaElement{AttributeName: aws.String(keys[i]), KeyType: kind})
		d.AttributeDefinitions = append(d.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(keys[i]), AttributeType: types.ScalarAttributeType(keys[i+1])})
	}
	return d
}

func TestEnsureTableAnswers(t *testing.T) {
	ours := func(status types.TableStatus) *types.TableDescription {
		return described(status, "pipeline", "S", "partition", "S")
	}
	denied := errors.New("denied")
	for name, c := range map[string]struct {
		tables  tables
		want    error
		message string
		creates int
	}{
		"there":                    {tables: tables{described: []*types.TableDescription{ours("ACTIVE")}}},
		"in change":                {tables: tables{described: []*types.TableDescription{ours("UPDATING")}}},
		"made by another":          {tables: tables{described: []*types.TableDescription{nil, ours("CREATING"), ours("ACTIVE")}, create: &types.ResourceInUseException{}}, creates: 1},
		"made, not yet to be seen": {tables: tables{described: []*types.TableDescription{nil, nil, ours("CREATING"), ours("ACTIVE")}}, creates: 2},
		"may not create":           {tables: tables{described: []*types.TableDescription{nil}, create: denied}, want: denied, creates: 1},
		"keys swapped":             {tables: tables{described: []*types.TableDescription{described("ACTIVE", "partition", "S", "pipeline", "S")}}, want: dynamostore.ErrBadTable, message: "HASH partition (S) RANGE pipeline (S)"},
		"no range key":             {tables: tables{described: []*types.TableDescription{described("ACTIVE", "pipeline", "S")}}, want: dynamostore.ErrBadTable, message: "HASH pipeline (S),"},
		"a number as a key":        {tables: tables{described: []*types.TableDescription{described("ACTIVE", "pipeline", "S", "partition", "N")}}, want: dynamostore.ErrBadTable, message: "partition (N)"},
		"being deleted":            {tables: tables{described: []*types.TableDescription{ours("DELETING")}}, want: dynamostore.ErrBadTable, message: "being deleted"},
		"archived":                 {tables: tables{described: []*types.TableDescription{ours("ARCHIVED")}}, want: dynamostore.ErrBadTable, message: "ARCHIVED"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := dynamostore.EnsureTable(t.Context(), &c.tables, "checkpoints")
				require.ErrorIs(t, err, c.want)
				if c.want != nil {
					require.ErrorContains(t, err, "checkpoints")
					require.ErrorContains(t, err, c.message)
				}
				require.Equal(t, c.creates, c.tables.creates)
			})
		})
	}
}
