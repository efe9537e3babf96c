// Package conformance holds a DynamoDB against what AWS documents, as far as a
// backfill, a stream reader and a checkpoint store rely on it. It is how the
// simulator of package streamtest is kept honest: the same checks run on it and
// on servers that others wrote, and on AWS for whoever has an account.
//
//	func TestMine(t *testing.T) {
//		conformance.Run(t, conformance.Backend{Tables: client, Streams: streamsClient})
//	}
//
// Where a server is known to fall short of AWS, Backend.Known names the check
// and says how; it is then skipped with that reason.
//
// Compare goes further where two servers implement the same call: it sends both
// the same random conditional writes and wants the same answers and items.
//
// # Non-guarantees
//
// The checks need seconds, not hours: nothing that comes with time (rotation,
// trimming, expiry) is covered here, only in streamtest's own tests.
//
// # Concurrency
//
// A run makes tables with names of its own and leaves them behind; runs may
// share a server. Each is sequential.
package conformance
