// Package awsevents runs lambdaids over the event types of
// github.com/aws/aws-lambda-go/events: one adapter an event source, each of them
// with a Handle method for lambda.Start.
package awsevents
