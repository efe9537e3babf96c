// Package streamreader reads a DynamoDB stream: all its shards, parents before
// children, each from where its checkpoint says, and hands the records out in
// batches with an acknowledgement each. What is not acknowledged is not
// recorded as progress, and is read again after a restart.
//
// It is the I/O around package shards, which makes every decision, and
// package checkpoint, which makes progress durable. Who knows the Kinesis
// Client Library finds its worker here, without leases: one process owns a
// pipeline, and a second one fences the first.
//
// # Guarantees
//
// Those of package shards (S1 to S5) carried out, and of package checkpoint
// (C1 to C8). A batch's records are in the shard's order, and a shard's batches
// are handed out in order. In Strict order, the default, no record of a child
// is handed out before the completion of its parents is durable. The last
// page of a shard is handed out before the shard counts as read, also when
// it comes without a next iterator. Every call to the service has a deadline of
// its own; a failed one costs itself, never the discovery it belongs to.
//
// # Non-guarantees
//
// Delivery is at least once. Different shards are handed out in no particular
// order. A nacked batch is not handed out again by this package: it pins its
// shard's progress until it is acked, and wrapping readers may redeliver it.
//
// # Concurrency
//
// All methods of a [Reader] may be called from any goroutine; acknowledgements
// too. With several goroutines in Read, it is theirs to keep the order of a
// shard's batches. The first Read starts the reader's goroutines: one for
// discovery, and one for each shard that is being read. Close ends and awaits
// them all.
package streamreader
