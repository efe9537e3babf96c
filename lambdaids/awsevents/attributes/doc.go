// Package attributes turns the attribute values of Lambda's DynamoDB events into
// those of aws-sdk-go-v2, and back, so that an image of a stream record can be
// unmarshalled with attributevalue.UnmarshalMap or written to a table as it is.
//
// It stands apart from awsevents, so that functions that do not need it are not
// linked with the SDK.
//
// # Guarantees
//
//   - L13 All ten types convert without loss, at any depth: numbers stay the strings
//     they are, empty strings, binaries, lists, maps and sets stay empty, and order
//     within lists and sets is kept.
//
// # Non-guarantees
//
// What the events' type cannot hold, a NULL that is false, is an error.
//
// # Concurrency
//
// Pure functions. The results share the binaries and sets of their argument.
package attributes
