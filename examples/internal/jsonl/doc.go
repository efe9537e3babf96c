// Package jsonl writes change-data-capture batches as JSON lines and settles a
// batch only after its lines are safe.
//
// It is the delivery end of the example pipeline, and shows what "delivered"
// must mean before an ack: the bytes were written, and for a regular file also
// fsynced. Several batches share one fsync (group commit): a batch waits at
// most Config.Linger for company, is never acked before the fsync that covers
// it, and a failed write or fsync settles nothing, then or later.
//
// # Guarantees
//
//   - A batch's ack runs with a nil error only after write, and for a regular
//     file fsync, of all its lines returned without error.
//   - Batches are written in the order of Append, lines within a batch in order.
//   - After the first failed write or fsync every batch is acked with that
//     error: what a kernel forgot on a failed fsync is not claimed by a later one.
//   - Open removes a torn last line, the trace of a process killed in the middle
//     of a write. It was never acked, so it comes again. A file that does not
//     look like this package's output is refused untouched.
//
// # Non-guarantees
//
// Lines of a group that was written but not acked before a crash come again:
// readers deduplicate by sequence number, or by keys in the backfill.
//
// # Concurrency
//
// Append is for one goroutine. Acks run in the Writer's goroutine, one after
// another, and may not call back into the Writer.
package jsonl
