package dynamostore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/internal/whole"
)

// Client is the part of *dynamodb.Client that a Store calls: all of it, and
// therefore the whole of the IAM policy that it needs. A client of your own passes
// the options on: they keep a torn answer from being taken for an empty one.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Store is a checkpoint.Store in one DynamoDB table.
type Store struct {
	client Client
	table  string
	expire func(checkpoint.Checkpoint) time.Duration // nil: rows never expire
}

var _ checkpoint.Store = (*Store)(nil)

// Option sets up a Store.
type Option func(*Store)

// ExpireAfter makes each Save write the attribute expires_at, for a table whose
// time to live is enabled on it: keep is asked how long the row is to be kept,
// 0 meaning for ever. The default is for ever, without the attribute.
//
// A row that expires is forgotten: its partition is read from the start if it
// is ever opened again. FinishedShards is a policy that is safe.
func ExpireAfter(keep func(checkpoint.Checkpoint) time.Duration) Option {
	return func(s *Store) { s.expire = keep }
}

// New returns a Store in the table. It calls nothing: a missing table shows as
// ErrNoTable at the first use.
func New(client Client, table string, opts ...Option) *Store {
	s := &Store{client: client, table: table}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Claim raises the row's fence and returns the row, in one request. It changes
// fence, revision, owner and updated_at and nothing else. When its answer is lost it may be
// repeated: the fence is then raised once more, which fences nobody but oneself.
func (s *Store) Claim(ctx context.Context, key checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	if err := key.Validate(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	out, err := s.client.UpdateItem(ctx, claimInput(s.table, key, owner), whole.Call)
	if _, ok := refused(err); ok {
		return checkpoint.Checkpoint{}, fmt.Errorf("%w: %s: it has an attribute %s, so a later version wrote it; upgrade this program", checkpoint.ErrBadRow, key, attrSchema)
	}
	if err != nil {
		return checkpoint.Checkpoint{}, s.wrap(ctx, "claim", key.String(), err)
	}
	return decodeCheckpoint(out.Attributes)
}

// Save writes the checkpoint in one conditional request, which is never
// repeated here: see the package comment.
func (s *Store) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	if err := cp.Key.Validate(); err != nil {
		return err
	}
	_, err := s.client.UpdateItem(ctx, s.saveInput(cp), whole.Call, once)
	if failed, ok := refused(err); ok {
		return standing(cp, failed.Item)
	}
	if err != nil {
		return s.wrap(ctx, "save", cp.Key.String(), err)
	}
	return nil
}

// once turns the SDK's retries off for one call.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// standing says why a save was refused, from the row that stands: none if the
// row was deleted.
func standing(cp checkpoint.Checkpoint, it item) error {
	save := fmt.Sprintf("save %s at fence %d revision %d", cp.Key, cp.Fence, cp.Revision)
	if len(it) == 0 {
		return fmt.Errorf("%w: %s: the row was deleted", checkpoint.ErrFenced, save)
	}
	row, err := decodeCheckpoint(it)
	switch {
	case err != nil: // whoever wrote it, it is not the row that was claimed
		return fmt.Errorf("%w: %s: %w", checkpoint.ErrFenced, save, err)
	case row.Fence == cp.Fence && row.Owner == cp.Owner && row.Revision <= cp.Revision:
		return fmt.Errorf("%w: %s", checkpoint.ErrComplete, save)
	default:
		return fmt.Errorf("%w: %s: fence %d revision %d of owner %q stands", checkpoint.ErrFenced, save, row.Fence, row.Revision, row.Owner)
	}
}

// Load reads one row, strongly consistently.
func (s *Store) Load(ctx context.Context, key checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := key.Validate(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	it, err := s.get(ctx, key)
	if err != nil {
		return checkpoint.Checkpoint{}, s.wrap(ctx, "load", key.String(), err)
	}
	if len(it) == 0 {
		return checkpoint.Checkpoint{}, fmt.Errorf("%w: %s", checkpoint.ErrNotFound, key)
	}
	return decodeCheckpoint(it)
}

func (s *Store) get(ctx context.Context, key checkpoint.Key) (item, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.table,
		Key:            itemKey(key),
		ConsistentRead: aws.Bool(true),
	}, whole.Call)
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// List yields the pipeline's rows whose partition begins with prefix, in order
// of the partition, without the origin. The first error ends it.
func (s *Store) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := checkpoint.ValidatePipeline(pipeline); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		for it, err := range s.query(ctx, listInput(s.table, pipeline, prefix)) {
			if err != nil {
				yield(checkpoint.Checkpoint{}, s.wrap(ctx, "list", pipeline+"/"+prefix+"*", err))
				return
			}
			if isOrigin(it) {
				continue
			}
			cp, err := decodeCheckpoint(it)
			if !yield(cp, err) || err != nil {
				return
			}
		}
	}
}

// HasAny reports whether the pipeline has any row, the origin included.
func (s *Store) HasAny(ctx context.Context, pipeline string) (bool, error) {
	if err := checkpoint.ValidatePipeline(pipeline); err != nil {
		return false, err
	}
	in := listInput(s.table, pipeline, "")
	in.Limit = aws.Int32(1)
	for _, err := range s.query(ctx, in) {
		if err != nil {
			return false, s.wrap(ctx, "look for any row of", pipeline, err)
		}
		return true, nil
	}
	return false, nil
}

// query yields the items of every page. An empty page is not the end of the
// answer: only a missing LastEvaluatedKey is.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for {
			out, err := s.client.Query(ctx, in, whole.Call)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range out.Items {
				if !yield(it, nil) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			next := *in
			next.ExclusiveStartKey = out.LastEvaluatedKey
			in = &next
		}
	}
}

func isOrigin(it item) bool {
	s, ok := it[attrPartition].(*types.AttributeValueMemberS)
	return ok && s.Value == checkpoint.OriginPartition
}

// Delete removes the row, whatever it holds. A row that is not there is no error.
func (s *Store) Delete(ctx context.Context, key checkpoint.Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: itemKey(key)}, whole.Call)
	if err != nil {
		return s.wrap(ctx, "delete", key.String(), err)
	}
	return nil
}
