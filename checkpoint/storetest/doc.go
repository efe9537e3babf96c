// Package storetest holds a checkpoint.Store to its contract. The author of a
// Store runs the whole suite in one line:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) checkpoint.Store { return mystore.New(…) })
//	}
//
// [Faulty] wraps any Store and makes it as bad as real ones are: throttled,
// slow, cut off, with answers that are lost after the write was applied and
// writes that arrive long after their caller gave up. What goes wrong is decided
// by a [Plan], and [Seeded] makes one that repeats itself for the same seed,
// however the goroutines interleave.
//
// # Guarantees
//
// A Store that passes keeps the sentences of checkpoint.Store that a test can
// see from outside, concurrent claims, saves and first starts included. Each
// subtest uses pipelines of its own, so stores may share one table.
//
// # Non-guarantees
//
// The suite cannot see durability across a crash of the store, nor prove strong
// consistency: it can only catch a stale read that happens while it looks.
//
// # Concurrency
//
// A Faulty may be used from several goroutines if the wrapped Store may.
package storetest
