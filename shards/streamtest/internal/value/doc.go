// Package value is the arithmetic of DynamoDB's attribute values: copying,
// measuring, comparing and checking them, and an encoding of keys whose bytes
// order as the keys do.
//
// Values are treated as immutable: whoever keeps one, copies it first (Copy,
// CopyItem) or owns it already.
//
// # Concurrency
//
// Pure functions, safe for concurrent use.
package value
