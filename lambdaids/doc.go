// Package lambdaids answers AWS Lambda's event source mappings with the right
// identifiers. (Guarantees follow below.)
package lambdaids
