// Package streamtest is DynamoDB and DynamoDB Streams in process, for tests of
// programs that read a table and its stream: rotation, splits, expiry,
// trimming, eventual consistency and faults are in the hands of the test, and
// time is the test's too.
//
// Unlike DynamoDB Local, moto, dynalite and other emulators, which aim at the
// table operations and give a stream one shard that lives for ever, it aims at
// what makes reading a stream hard. Of the table operations it has those that
// a backfill and a checkpoint store need; everything else is refused by name,
// never ignored.
//
// A Service is reached in three ways:
//
//   - Service.Dynamo and Service.Streams are direct clients with the methods
//     of the SDK's: no network, no JSON, no retries.
//   - Service.AWSConfig sets up the real SDK clients without a network.
//   - Service.Serve listens on loopback for any client, in this process or another.
//
// The first two work in a testing/synctest bubble. Then the service's clock is
// the bubble's: thirty days of rotations take as long as the calls made in them.
// Otherwise Service.Advance moves the clock.
//
// # Guarantees
//
//  1. Every change of a table with an enabled stream becomes one record in one
//     shard, in the order of the changes; a write that changes nothing becomes none.
//  2. Sequence numbers grow along a shard and from parent to child. They are
//     21 to 39 digits long, of different lengths within one shard, so that
//     comparing them as text goes wrong.
//  3. All changes of one key are in one shard or its descendants. (Not across
//     Merge: the API names one parent only.)
//  4. A record leaves the stream Config.Retention after it was made, a shard
//     Config.Retention after it closed, neither earlier, and whoever asks for
//     what left is told so: TrimmedDataAccessException, ResourceNotFoundException.
//  5. A conditional write decides and writes in one step.
//  6. Inconsistency, empty pages and stale reads delay or hide, they lose
//     nothing: after Inconsistency.Window a listing is the truth.
//  7. What callers get or gave is theirs: nothing is shared.
//
// # Non-guarantees
//
//   - The text of errors is AWS's only where programs are known to match on it.
//   - Capacity is computed by the documented rules, not metered.
//   - With concurrent callers the order of calls, and with it what chance
//     brings to each, is the scheduler's.
//   - It keeps all in memory and is neither fast nor safe enough to be a database.
//
// # Fidelity
//
// What AWS documents, and what a Service does:
//
//	records and closed shards live 24 hours          the same; Config.Retention, Service.Trim
//	iterators live 15 minutes                        the same; Config.IteratorLife, ExpireIterators
//	shards rotate about every 4 hours                by Config.RotateEvery, Rotate; never by default
//	a shard has at most one parent                   the same; Merge names the left one
//	DescribeStream lists at most 100 shards          the same, in the order of their ids
//	DescribeStream is eventually consistent          by Config.Inconsistency, consistent by default
//	DescribeStream's ShardFilter CHILD_SHARDS        the same
//	DescribeStream at most 10 calls a second         counted; refused with Limits.Enforce
//	a shard at most 2 readers                        10 calls a second a shard, counted or refused
//	GetRecords at most 1,000 records or 1 MB         the same
//	GetRecords may answer no records                 by Config.EmptyPages
//	a closed shard's last page has no iterator       the same, with its records on it
//	TRIM_HORIZON, LATEST, AT_, AFTER_SEQUENCE_NUMBER the same, AT_TIMESTAMP too, to the second
//	a number older than the trim point               TrimmedDataAccessException, even if nothing
//	                                                 but the record of that number was trimmed
//	a shard or stream that aged out                  ResourceNotFoundException
//	creation times are to the second                 the same: cut, not rounded
//	writes that change nothing leave no record       the same
//	the four view types                              the same
//	expired items are deleted by the service         the same; on time, or Config.TTLDelay later
//	a disabled stream is readable for 24 hours       the same; enabled again it has another ARN
//	Scan by segments, 1 MB a page                    the same; a page that ends with the last item
//	                                                 of all still has a LastEvaluatedKey
//	condition, update, key condition and filter      all of their grammar, reserved words and
//	expressions                                      unused placeholders refused; projections of
//	                                                 top-level attributes only
//	reads are eventually consistent by default       GetItem and Query by Config.StaleReads
//	an item has at most 400 KB, a number 38 digits   the same
//	ItemCount is updated every six hours             exact
//	StartingSequenceNumber of a shard                a number below its first record's
//	EndingSequenceNumber of a shard                  a number above its last record's
//	indexes, transactions, batches, PartiQL,         refused: ValidationException or
//	legacy conditions, control plane                 UnknownOperationException
//	an answer that loses its body on the way is      by the faults Emptied and Torn; never by default
//	no error to the SDK
//	signatures                                       any credentials will do
//
// Where readers of AWS's page and users of the service disagree, and for the
// shape of what is not documented (the text of shard ids, iterators and
// sequence numbers), it imitates what is seen in the wild.
//
// # Concurrency
//
// A Service may be used by any number of goroutines and starts none. A Server
// has those of net/http until it is closed. One lock guards all; it is never
// held while a caller waits for Config.Latency or a fault.
package streamtest
