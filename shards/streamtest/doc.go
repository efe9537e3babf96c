// Package streamtest is DynamoDB and DynamoDB Streams in process, for tests of
// programs that read a table and its stream: with rotation, splits, expiry,
// trimming, eventual consistency and faults in the hands of the test.
package streamtest
