// Package claims holds lambdaids/dynamoclaims to the conformance suite of claims,
// on DynamoDB servers that this project did not write, and applies records
// exactly once in their transactions. It has tests only, under the build tag
// integration.
package claims
