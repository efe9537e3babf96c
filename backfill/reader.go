package backfill

import (
	"context"
	"errors"
)

// AckFunc settles one batch: nil = delivered, anything else = not delivered.
type AckFunc func(ctx context.Context, err error) error

// ErrBackfillComplete is returned by Reader.ReadBackfill once everything, a
// trailing partial batch included, was read.
var ErrBackfillComplete = errors.New("backfill: complete: everything that existed was read")

// Reader is what a connector implements.
type Reader[B any] interface {
	ReadBackfill(ctx context.Context) (B, AckFunc, error)
	ReadStream(ctx context.Context) (B, AckFunc, error)
}
