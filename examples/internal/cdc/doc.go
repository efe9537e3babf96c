// Package cdc is the pipeline of ddbcdc: a DynamoDB table, then its stream, as
// JSON lines that are acked only when they are safe.
//
// Read pipeline.go first: it is the whole wiring of ackgate's packages in one
// function. The other files are what any program of this kind needs around it.
package cdc
