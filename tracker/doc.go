// Package tracker finds out how far a partition may be checkpointed: it tracks
// items in the order they are read, is told in any order which of them were
// delivered, and knows the frontier, the position of the last item of the
// longest settled prefix. Restarting from there loses nothing.
//
// A Frontier is to one partition what a consumer's offset is to a Kafka
// partition, but computed from acks instead of being set by hand. It is a
// sliding window as in TCP: positions need not be numbers, let alone
// consecutive ones; the order is the order of the Track calls, and positions
// are never compared.
//
// A Group is many Frontiers under one limit; a Watermark is the minimum over
// the positions of many partitions. The package stores nothing: package
// checkpoint makes frontiers durable.
//
// # Settling
//
// Track returns a Ticket. To settle it is to end it: Ack, the item was
// delivered, or Discard, it was deliberately dropped, filtered out or
// dead-lettered. A Nack says that delivery failed and ends nothing. Whoever
// gives an item up for any reason settles its ticket or abandons the Frontier:
// a ticket that is merely forgotten holds the frontier for ever, as it must.
// A source that is idle but knows that there is nothing up to a position tracks
// and acks that position, and so moves the frontier without an item.
//
// # Guarantees
//
//   - T1 Position never passes an outstanding ticket.
//   - T2 Position never moves backwards in the order of tracking.
//   - T3 Settling a second time, after Abandon, or with a zero Ticket changes
//     nothing and reports false; Stats counts it, where there is a Frontier to
//     count it.
//   - T4 A nacked ticket stays outstanding, so that it pins the frontier, and
//     can still be acked or discarded.
//   - T5 After Seal, Track fails with ErrSealed. Done closes exactly when the last
//     outstanding ticket settles, at once if none is, and never without Seal:
//     a Frontier that tracked nothing is not done.
//   - T6 With limit L, outstanding weight exceeds L only while a single item (or one
//     TrackAll) heavier than L is alone in flight. A Track that waits ends
//     promptly on its context, Seal or Abandon, having tracked nothing; waiting
//     costs no goroutine; those who wait are served in the order they came.
//   - T7 Abandon makes all outstanding tickets stale, wakes those who wait, and never
//     closes Done. Position, once Abandon has returned, does not move again. It
//     changes nothing on a Frontier that is complete already.
//   - T8 Memory is proportional to what is outstanding, not to the distance between the
//     frontier and the newest item: one stuck ticket with ten million settled
//     behind it costs what one ticket costs. A burst's memory is given back: at
//     most some 2,000 slots, or some 32 for each outstanding item, are kept.
//   - T9 The frontier rests only on items that carry a position. A transaction split
//     over several batches is held by TrackHold until its last batch, and so
//     are records that share one position.
//
// # Non-guarantees
//
// A Frontier does not redeliver, time out or order deliveries, and keeps no
// error of a Nack. It reads no clock: Stats.Oldest tells which item is stuck,
// and a caller that looks twice knows for how long. Items that share a
// position are items like any other: to rest on it only after the last of
// them, hold the others (T9). At most 2³²-2 items can be outstanding.
//
// # Concurrency
//
// All methods may be called from any goroutine. Acks never wait for anything
// but the lock, which is held for some ten nanoseconds and never while user
// code runs. Nothing here starts a goroutine.
package tracker
