// Package shards decides how the shards of a stream are read: where each
// starts, which may be read already, and what an error means. It is made for
// DynamoDB Streams; nothing in it does I/O, starts a goroutine or reads a
// clock. [github.com/ackgate/ackgate/shards/streamreader] carries its answers
// out.
//
// Who knows the Kinesis Client Library knows the task: shards split and
// rotate, iterators expire, records are trimmed. The library keeps leases and
// a worker's loop around these decisions; here they are functions from
// evidence to answer, without a worker.
//
//   - [SequenceNumber] compares positions by value.
//   - [Resolve] turns [Evidence] into a [Start].
//   - [Lineage] hands shards out, parents first.
//   - [Classify] turns an error's code into an [Action].
//   - [Gap] is what was lost, as an error.
//
// # Guarantees
//
//   - S1 LATEST is the answer in exactly one row of Resolve's table: the
//     origin says latest, this run created it, the first discovery listed the
//     shard, and no iterator of it was asked for before. Every renewal, restart,
//     rotation and fail-over gets a position or TRIM_HORIZON.
//   - S2 No record created after the origin is skipped, whatever the order of
//     crashes, rotations, expiries and refreshes. For a shard that starts at
//     LATEST the origin is the moment its iterator was given.
//   - S3 A child is handed out only when each of its known parents is complete
//     (in Relaxed order: read) or proven trimmed; a listing that is late,
//     partial, repeated or contradictory releases none early and forgets none.
//   - S4 What was trimmed is a Gap with both ends, never silence; what fails
//     for ever is terminal, never a loop.
//   - S5 A checkpoint may be deleted only when its shard left the stream and
//     each of its children has durable state of its own.
//
// # Non-guarantees
//
// A pipeline that starts at LATEST is not owed what was written between
// Begin and the moment its shards were positioned; one that needs that drops
// its Freshness, starts at TRIM_HORIZON, and skips what is older than the
// origin, or lets streamreader ask by time. The checkpoint of a shard whose children were never seen is kept for
// ever: nothing proves that it is not needed.
//
// # Concurrency
//
// SequenceNumber, Resolve, Classify and Gap are values and functions. A
// Lineage belongs to one goroutine at a time.
package shards
