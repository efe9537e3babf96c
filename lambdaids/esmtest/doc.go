// Package esmtest plays Lambda's event source mapping in process: it hands
// records to a handler as event JSON, takes the answer's JSON as Lambda would
// take it, and redelivers. A test of any handler can run on it, whatever library
// made the handler.
//
// # Relation to what you know
//
// It is the polling half of "How Lambda processes records from stream and
// queue-based event sources"
// (https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html):
// batches, checkpoints, retries, bisecting, dead letters. It has no clock: a
// queue's visibility timeout ends at once, and a record's age is not modelled.
//
// # Guarantees
//
//   - A record is consumed only by an answer that lambdaids.Verify reads so;
//     everything else comes again, until Mapping.MaxAttempts.
//   - Streams are delivered in order, one batch of the shard at a time. A FIFO
//     queue hands out no message before the earlier ones of its group are gone.
//   - A handler that never gets on ends with ErrStuck, not in an endless test.
//
// # Non-guarantees
//
// What AWS leaves undocumented is settled by Mapping's fields, the careful way by
// default. Whether the retries of a stream are counted anew when a partial answer
// moved the checkpoint is undocumented; here they are.
//
// # Concurrency
//
// One Run invokes the handler once at a time.
package esmtest
