// Package awsevents runs lambdaids over the event types of
// github.com/aws/aws-lambda-go/events: one adapter an event source, each with a
// Handle method for lambda.Start.
//
//	DynamoDB, DynamoDBWindow   DynamoDB Streams, without and with a tumbling window
//	Kinesis, KinesisWindow     Kinesis data streams
//	SQS                        queues; FIFO queues are told by their ARN
//	Kafka                      Amazon MSK and self-managed Kafka
//
// # Relation to what you know
//
// A handler takes a pointer to the record of the event, as aws-lambda-go decoded
// it, and what Handle returns is aws-lambda-go's own response type, where it has
// one: none for Kafka, and its windows' state cannot hold numbers, so that
// KafkaResponse, WindowEvent and WindowResponse stand in.
//
// # Guarantees
//
// Those of lambdaids.
//
// # Non-guarantees
//
// No data is decoded but what the helpers are asked for: KafkaRecord.ValueBytes,
// SQSTime and the like; package attributes has DynamoDB images for aws-sdk-go-v2.
// Aggregated Kinesis records (KPL) are handed over as they are.
//
// # Concurrency
//
// Handlers may be used from any goroutine; each invocation runs as lambdaids says.
package awsevents
