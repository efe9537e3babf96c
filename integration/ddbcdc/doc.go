// Package ddbcdc runs the program examples/ddbcdc against moto, a DynamoDB with
// streams that this project did not write: through the whole path, with kills
// in both phases, and with the input faults a user makes first. It has tests
// only, under the build tag integration.
//
// Where moto falls short of AWS, nothing had to be worked around: its stream is
// one shard that never ends (AWS closes a shard after about four hours and opens
// children), its DescribeStream does not page, its iterators do not expire
// after 15 minutes, and its records are dated to the microsecond (AWS: to the
// second). Rotation, paging and expiry are what shards/streamtest is for.
package ddbcdc
