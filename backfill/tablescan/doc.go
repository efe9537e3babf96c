// Package tablescan reads a whole DynamoDB table as the backfill half of a
// source: a parallel Scan whose segments resume behind what was delivered.
//
// A Scanner plans (PlanBackfill), opens every segment of the plan as a
// checkpoint partition (StartBackfill), and hands out pages with the AckFunc that
// settles each (Read). It is meant to be driven by a backfill.Runner, which calls
// these in order: on its own through backfill.BackfillOnly, or inside a source
// that also reads the table's stream.
//
// # Relation to Scan
//
// A page is one answer of Scan. The position of a segment is the
// LastEvaluatedKey of its last settled page, all key types included, so that the
// next attempt continues with it as ExclusiveStartKey; the last page, which has
// none, completes the segment once it is settled. Empty pages with a
// LastEvaluatedKey are progress and are not handed out.
//
// # Guarantees
//
// A segment that is complete is not read again, and another resumes behind its
// last committed key; the plan's number of segments stands, whatever Config says
// later. All segments are claimed before the first page is read, so that an
// attempt that was superseded never claims one back. Reads are strongly
// consistent unless Config says otherwise. Throttling, server faults and broken
// connections are retried with growing pauses for as long as the attempt lives;
// a request that cannot succeed, a table that is gone and a table that was
// replaced are errors.
//
// # Non-guarantees
//
// Pages are delivered at least once. Different segments have no order, and a scan
// is no snapshot: an item that changes while the table is scanned is seen as it
// is when its page is read. The rate limit bounds the mean, not a single page.
// That a table was replaced is noticed within Config.CheckEvery, and in any case
// before the backfill can complete, if the server gives tables an id.
//
// # Concurrency
//
// Read is for one goroutine at a time; AckFuncs and Progress are for any. A
// Scanner has one attempt at a time; several Scanners on one plan fence each
// other, and the newest one wins.
package tablescan
