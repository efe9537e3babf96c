// Package dynamostore keeps checkpoints in a DynamoDB table.
//
// One table serves any number of pipelines: its hash key is the pipeline, its
// range key the partition. A Store is a client and a table name:
//
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), "ackgate-checkpoints")
//
// It is what a lease table is to the Kinesis Client Library, less the leases:
// nobody hands out partitions here. Who holds one is settled by the fence alone,
// a number that each Claim raises and that every Save is conditional on.
//
// # Rows
//
//	pipeline   S     hash key
//	partition  S     range key
//	position   S     where to resume; absent when nothing was settled yet
//	complete   BOOL  never read this partition again
//	fence      N     raised by Claim
//	revision   N     raised by every Save under one fence; Claim sets it to 0
//	event_time N     source time of the position, milliseconds of Unix time
//	updated_at N     time of the last write, milliseconds of Unix time
//	owner      S     who claimed it last
//	expires_at N     seconds of Unix time, only with [ExpireAfter]
//
// The pipeline's origin is the row "origin", with start (S), time (N,
// milliseconds), source (S) and owner (S, a random token of the call that wrote it).
//
// Positions are strings because sequence numbers have up to 56 digits and a
// DynamoDB number holds 38. A row that carries an attribute named schema was
// written by a later version of this package, and is refused.
//
// # Guarantees
//
// The Store contract of package checkpoint, by these means:
//
//   - Every read is strongly consistent, the question whether a pipeline has any
//     row included.
//   - Every write but Delete is one conditional UpdateItem that names the
//     attributes it changes. There is no PutItem: a claim cannot erase a position, a late save
//     cannot restore an old owner.
//   - A save applies while the fence and the owner are those of its Claim and
//     no higher revision stands. An equal one is accepted again, so a write whose
//     answer was lost may be repeated. A complete row is never overwritten by an
//     incomplete one, and a deleted row is not brought back.
//   - A missing table is [ErrNoTable], never "no checkpoint". A row that cannot
//     be understood is checkpoint.ErrBadRow, naming the row.
//   - Save makes exactly one request: the Committer repeats a failed save with
//     its own backoff, and the SDK's retries would multiply with it. All other
//     calls use the client's own retries.
//   - An answer that did not arrive whole is an error that the client repeats,
//     and never a row that is not there: the SDK itself takes a lost body for an
//     empty answer.
//
// # Non-guarantees
//
//   - A request that hangs is ended by its context alone; the Committer gives
//     each save a deadline.
//   - Nothing limits how fast one pipeline may write, but DynamoDB does: all rows
//     of a pipeline share a hash key, which is good for about 1,000 writes a second.
//
// # Concurrency
//
// A Store may be used by any number of goroutines and starts none.
package dynamostore
