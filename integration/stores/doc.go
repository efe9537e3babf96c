// Package stores holds every Store of this project to the conformance suite, on
// servers that this project did not write: the checkpoint table of
// checkpoint/dynamostore on moto, dynalite and kumo, and on any endpoint named by
// ACKGATE_DYNAMODB_ENDPOINT. It has tests only, under the build tag integration.
package stores
