// Package backfill joins the read of what exists to the stream of what changes,
// so that a connector author need not write the handoff again.
//
// A connector implements Reader: ReadBackfill until ErrBackfillComplete, and
// ReadStream. New makes a Runner of it, one attempt of the pipeline, whose Read
// is one loop for the caller in every phase:
//
//	Fresh -> Backfilling -> Settling -> Completing -> Streaming (or Finished)
//
// What is durable is a plan (how many segments, where the stream must start),
// a checkpoint for each segment, and a marker behind the completion hook. A
// crash in any phase resumes where these rows say.
//
// # Relation to what you know
//
// It is what a snapshot phase is to Debezium or a full load to a migration tool,
// with two differences: a batch counts when it was delivered, not when it was
// read, and the gap between the last read and the last delivery, where snapshots
// elsewhere are counted complete too early, is a phase of its own: the settle
// barrier. Subpackage tablescan is the backfill half for DynamoDB tables.
//
// # Guarantees
//
//   - B1 The plan with the stream's anchor is durable before the first backfill
//     row is read.
//   - B2 BackfillComplete runs only after every batch of this attempt is settled
//     and every segment's completion is durable, as the store says; ReadStream is
//     called only after the hook returned nil and the marker is durable (handoff
//     Strict).
//   - B3 A nack never counts as delivery: by policy it pins until the batch is
//     settled after all, fails the attempt with the batch's name, or is discarded
//     by explicit choice. The policy is the same in both phases. The Summary
//     counts discards, and a discard is counted durably before it is settled.
//   - B4 Batches belong to one attempt: those of an earlier one can neither wedge
//     nor advance a later one, however late they are settled. Who gives way is
//     asked of the store: the newest of several attempts never gets ErrSuperseded,
//     at worst ErrDisplaced, which asks to begin again.
//   - B5 The barrier never hangs a shutdown: Stop, Abort and the context each end
//     the wait, without failure and without a change of phase. While it waits,
//     Hooks.Stalled names the oldest batch and its age, with growing pauses.
//   - B6 The barrier cannot deadlock with a downstream that batches: it asks for
//     a flush (ErrFlush, Config.Flush or a Flusher) at once and with growing
//     pauses; handoff Overlap instead starts the stream at once and holds its
//     acks back until the marker is durable.
//   - B7 The completion hook is called at least once, again with growing pauses
//     while it fails, never after the marker; after a crash between hook and
//     marker only the hook runs again, not the scan.
//   - B8 A complete segment is not read again, a segment resumes behind its last
//     committed position, and the persisted plan wins over the configuration.
//     Every backfill has a generation in its rows' keys: a new one starts clean,
//     and a crash in its middle cannot read as complete.
//   - B9 A backfill that outlives the stream's retention is found out: warnings
//     at shares of it, then ErrAnchorLost instead of a silent gap, or by policy
//     the stream is opened beside the scan in time.
//   - B10 In handoff Interleaved no row of the backfill is delivered over a newer
//     version that the stream delivered, and a row dropped in favour of the stream
//     counts as settled only once the stream's own batch is.
//
// Redeliver adds redelivery to any Read loop: a nacked batch is handed out again
// with growing pauses, in the order of its partition, up to a number of attempts,
// then to a dead-letter func or to the policy of the reader below.
//
// # Non-guarantees
//
// Delivery is at least once: a crash repeats what was in flight. An Overlap
// handoff, and a batch that is settled after its successors because the caller
// delivers one partition's batches side by side, can write an older version over
// a newer one; use Strict, or a sink that compares versions. An attempt that was
// superseded while it stood between its last look at the store and its hook calls
// the hook late, perhaps after the newer one has set the marker: "never after the
// marker" (B7) holds for the newest attempt, and the hook must be idempotent and
// not mind that it is late. An older attempt that is paused as it opens its
// partitions can take them from the newest once; that one then ends with
// ErrDisplaced and has to be begun again, by whoever supervises it. B10 needs a source
// that can say where its stream ends; DynamoDB Streams cannot, so tablescan is no
// Interleaver. The retention guard compares this machine's clock with the
// source's.
//
// # Concurrency
//
// Read is for one goroutine at a time, AckFuncs for any number, and Stop, Abort,
// Close, Phase and Stats may be called at any time. Strict and Interleaved handoffs
// start no goroutine but the hook's; Overlap starts one for each half; Redeliver
// one for a read that is under way. Close waits for all of them.
package backfill
