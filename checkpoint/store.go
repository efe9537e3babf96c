package checkpoint

import (
	"context"
	"errors"
	"iter"
)

// Store keeps checkpoints.
type Store interface {
	Claim(ctx context.Context, key Key, owner string) (Checkpoint, error)
	Save(ctx context.Context, cp Checkpoint) error
	Load(ctx context.Context, key Key) (Checkpoint, error)
	List(ctx context.Context, pipeline, prefix string) iter.Seq2[Checkpoint, error]
	HasAny(ctx context.Context, pipeline string) (bool, error)
	Begin(ctx context.Context, pipeline string, o Origin) (Origin, bool, error)
	Delete(ctx context.Context, key Key) error
}

var (
	// ErrNotFound is returned by Store.Load.
	ErrNotFound = errors.New("checkpoint: not found")
	// ErrFenced is returned by Store.Save when a newer fence or revision stands.
	ErrFenced = errors.New("checkpoint: fenced: a newer owner holds this partition")
)
