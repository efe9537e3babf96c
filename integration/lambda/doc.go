// Package lambda runs a function made with lambdaids under an event source mapping
// that this project did not write, ministack's, and compares what happens with
// lambdaids/esmtest. It has tests only, under the build tag integration.
//
// ministack gives a second opinion on queues with well-formed answers alone: it
// ignores the answers for streams, and where the AWS documentation has a
// malformed answer fail the whole batch, it deletes the messages.
package lambda
