package lambdaids

import (
	"context"
	"errors"
	"time"
)

// DefaultLease is the longest time a function can run. A claim that a crash left
// behind holds its record back for the rest of it: set the lease to the
// function's own timeout.
const DefaultLease = 15 * time.Minute

// releaseTimeout bounds the release of a claim after the handler's time is over.
const releaseTimeout = time.Second

// AtomicHandler applies a record and confirms its claim in one transaction, as
// with dynamoclaims' ConfirmItem in a TransactWriteItems. Returning nil says that
// both happened.
type AtomicHandler[R any] func(ctx context.Context, rec *R, c Claim) error

// Dedup wraps a handler so that a record that was applied is not applied again
// when it is delivered again: claim, apply, confirm. key names a record the same
// way in every delivery: awsevents has one for every source (DynamoDBKey,
// KinesisKey, SQSKey, KafkaKey). A record without key ("") is always applied.
//
// A failure releases the claim. A crash leaves it to its lease (zero:
// DefaultLease): the record then fails with ErrInFlight until the lease ended,
// and is applied again. So each record is applied at least once; twice only if a
// crash, or the end of the lease, fell between apply and confirm. DedupAtomic
// closes that gap.
func Dedup[R any](claims Claims, key func(*R) string, lease time.Duration, apply Handler[R]) Handler[R] {
	return dedup(claims, key, lease, func(ctx context.Context, rec *R, c Claim) error {
		if err := apply(ctx, rec); err != nil {
			return err
		}
		if c == (Claim{}) {
			return nil
		}
		return claims.Confirm(ctx, c)
	})
}

// DedupAtomic is Dedup for a handler that confirms the claim itself, in the
// transaction that applies the record: then the record is applied exactly once,
// as long as the claim's time to live lasts. A record without key gets the zero
// Claim, which it must not confirm.
func DedupAtomic[R any](claims Claims, key func(*R) string, lease time.Duration, apply AtomicHandler[R]) Handler[R] {
	return dedup(claims, key, lease, apply)
}

func dedup[R any](claims Claims, key func(*R) string, lease time.Duration, apply AtomicHandler[R]) Handler[R] {
	if claims == nil || key == nil || apply == nil {
		panic("lambdaids: Dedup: claims, key and handler must not be nil")
	}
	if lease <= 0 {
		lease = DefaultLease
	}
	return func(ctx context.Context, rec *R) error {
		k := key(rec)
		if k == "" {
			return apply(ctx, rec, Claim{})
		}
		c, state, err := claims.Claim(ctx, k, lease)
		switch {
		case err != nil:
			return err
		case state == Applied:
			return nil
		case state != Claimed:
			return ErrInFlight
		}
		done := false
		defer func() {
			if !done { // it panicked
				_ = release(ctx, claims, c)
			}
		}()
		err = apply(ctx, rec, c)
		done = true
		if err == nil {
			return nil
		}
		// If the claim is confirmed after all (its answer was lost), it stays.
		if rel := release(ctx, claims, c); rel != nil && !errors.Is(rel, ErrClaimLost) {
			err = errors.Join(err, rel)
		}
		return err
	}
}

// release frees a claim even if ctx has ended: its lease would hold the record
// back until then.
func release(ctx context.Context, claims Claims, c Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return claims.Release(ctx, c)
}
