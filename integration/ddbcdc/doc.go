// Package ddbcdc runs the program examples/ddbcdc against moto, a DynamoDB with
// streams that this project did not write: through the whole path, with kills
// in both phases, and with the input faults a user makes first. It has tests
// only, under the build tag integration.
package ddbcdc
