// Package lambdaids answers AWS Lambda's event source mappings with the right
// identifiers. A mapping with FunctionResponseTypes [ReportBatchItemFailures]
// takes from a function which records of a batch failed:
//
//	{"batchItemFailures":[{"itemIdentifier":"…"}]}
//
// Which identifier is right depends on the source, and a wrong one is silent: the
// batch is delivered again whole, the shard stalls, or the failure is lost.
//
//	source            itemIdentifier                     what comes again
//	DynamoDB Streams  dynamodb.SequenceNumber            that record and all behind it
//	Kinesis           kinesis.sequenceNumber             that record and all behind it
//	SQS               messageId                          the named messages
//	SQS FIFO          messageId                          the named messages
//	Kafka             {"partition":"t-0","offset":1}     the named records
//
// It is never the eventID: that one recognises duplicates (see Dedup).
//
// The answer counts only if the mapping's FunctionResponseTypes holds
// ReportBatchItemFailures, for Kafka in provisioned mode too; without it Lambda
// ignores the answer and takes every return without an error for a success.
//
// Package awsevents has a ready adapter for each event type of aws-lambda-go;
// most users need nothing else:
//
//	lambda.Start(awsevents.DynamoDB(handle, awsevents.DynamoDBConfig{}).Handle)
//
// # Relation to what you know
//
// It is a batch processor like those of Powertools for AWS Lambda, which has none
// for Go. It differs in that identifiers are types, in that it stops at the first
// failure of what is ordered, and in that a failed record without identifier is
// never left out in silence. The sources' rules are those of the AWS Lambda
// Developer Guide, cited at DynamoDB, Kinesis, SQS and Kafka; what AWS leaves
// undocumented is answered so that either reading is safe.
//
// # Guarantees
//
//   - L1 Only identifiers of the event's own records are answered, in their source's
//     form: never an empty one, an eventID, or another source's.
//   - L2 Under every policy but Drop, each record of a batch either succeeded (or was
//     dead-lettered) or is delivered again.
//   - L3 Nothing before the first failure of a shard, message group or partition is
//     delivered again, as long as the records have identifiers; of a standard queue
//     nothing that succeeded is.
//   - L4 Nothing ordered behind a failed record is started, unless Continue asks for
//     it. Inside a shard processed concurrently what already runs may end.
//   - L5 A complete success is an empty list, never null; no identifier is answered
//     twice; a stream's answer is one identifier, the lowest by value; the report
//     names the records that succeeded and come again all the same.
//   - L6 A failed record without identifier is counted, hooked and logged. Widen and
//     FailBatch lose nothing; Drop loses that record and no other.
//   - L7 A panic is the failure of its record alone. No record is started within the
//     margin before the deadline; what was not processed is reported.
//   - L8 Messages of a FIFO queue's group succeed in their order, whatever fails and
//     comes again (not with Continue).
//   - L9 A time window's answer always has a state, and each record is in it once,
//     however often it was delivered.
//   - L10 Nothing of one batch shows in a later one.
//   - L11 Verify reads an answer as the AWS documentation says, and never panics.
//   - L12 A handler made by Dedup applies each record at least once, whatever crashes
//     where; one made by DedupAtomic exactly once, while the claims last.
//   - L14 A record that succeeds allocates nothing beyond its handler.
//   - L15 With Concurrency, message groups, partitions, and the keys of Config.Key run
//     side by side, each of them in order and one record at a time.
//
// # Non-guarantees
//
// A handler that neither returns nor heeds its context is not stopped: Lambda then
// ends the invocation and retries the whole batch. Without Dedup delivery is at
// least once. Records aggregated by a Kinesis producer are not taken apart.
// Amazon MQ and DocumentDB take no partial answers and are not here.
//
// # Concurrency
//
// A Processor is safe for concurrent use and starts goroutines only inside
// Process, when Config.Concurrency asks for it; all have ended when it returns.
// Hooks run in the caller's goroutine, except DeadLetter and Backoff, which run
// where the record does. The core that decides an answer is pure.
package lambdaids
