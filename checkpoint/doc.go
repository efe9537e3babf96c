// Package checkpoint makes acknowledged progress durable. It joins a
// [tracker.Frontier] for each partition to a [Store], and keeps what the store
// says from ever being ahead of what was delivered.
//
// A [Committer] writes the frontiers of one pipeline's partitions. [Open]
// claims a partition, which fences whoever held it before, and tells where to
// resume. The caller tracks each record before it hands it out, acks it once it
// is delivered, and never waits for the store: a flusher saves the newest
// frontier of each partition every interval, however many acks moved it. This
// is the offset commit of a Kafka consumer with two differences: it follows
// acknowledgements in any order instead of the read position, and a consumer
// that lost its partition cannot commit any more.
//
// [Memory] keeps checkpoints for tests and demos, package dynamostore keeps
// them in DynamoDB, and package storetest holds any other Store to the
// contract. [Begin] writes when and where a pipeline began, and proves to the
// one run that created it that nothing can be missed by starting at the end.
//
// # Guarantees
//
//   - C1 A durable position never passes an outstanding ticket. A nacked ticket
//     is outstanding.
//   - C2 A durable position never goes back, whatever the order of acks, saves,
//     retries, lost answers and writes that arrive late.
//   - C3 After a newer Claim an older holder's Save changes nothing and gets
//     ErrFenced. Its partition reports Lost and accepts no more items, and it
//     is never saved again.
//   - C4 Complete is durable only after Seal and after every ticket settled;
//     once durable it is never overwritten by an incomplete row. A partition
//     that merely has nothing outstanding is not complete.
//   - C5 State counts as persisted only after the store said so, and only as far
//     as that save went. A failed save is repeated with backoff and jitter by
//     the flusher itself and needs no further ack; Flush, Drain and Close
//     return the error if it still fails when ctx ends.
//   - C6 Flush returning nil means that the frontier, as of the call, of every
//     partition then held is durable; Drain has waited for its outstanding
//     tickets as well. A partition lost before is no longer held: Lost and Err
//     say so. A cancelled ctx is a shutdown, not a failure, and is not logged.
//   - C7 A store that is down costs memory in proportion to the partitions, not
//     to the acks; it blocks no ack, and no shutdown beyond its ctx.
//   - C8 A row that cannot be understood is an error that names its key and
//     wraps ErrBadRow; the partition never starts from somewhere else instead.
//
// # Non-guarantees
//
// Delivery is at least once: after a crash everything behind the durable
// position comes again, which is what was in flight and what settled during the
// last interval and its save. A zombie can go on delivering, duplicates only,
// until its next save tells it that it was fenced; fencing protects the
// checkpoint, not the sink. Positions are compared by nobody: their order is
// the order of tracking, so a caller that resumes before the position it was
// given makes the durable position go back by its own hand. A Store that
// ignores its context can hold up Abandon and Release, though never Close.
//
// # Concurrency
//
// A Committer runs one goroutine from its first Open to Close, and one for each
// save in flight, at most Parallel. All methods may be called from any
// goroutine; Track of one partition comes from one, in read order. No lock is
// held while the store or a hook runs.
package checkpoint
