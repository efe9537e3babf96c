// Package keymap encodes DynamoDB key maps, such as a Scan's LastEvaluatedKey,
// as checkpoint positions: typed JSON that people can read and compare,
//
//	{"id":{"S":"order-17"},"line":{"N":"3"}}
//
// with attribute names in order, so that one key has one encoding. The types
// are those a key can have: S, N and B (in base64). A number stays the decimal
// string that DynamoDB gave, never a float.
//
// # Guarantees
//
// Decode(Encode(key)) equals key for every key that a table can have, and Decode
// accepts nothing but what Encode writes: a repeated name, another order, an
// unknown type is an error, never a guess.
//
// # Non-guarantees
//
// Whether a key belongs to the table that it is used with is DynamoDB's to say.
//
// It is a package of its own so that package checkpoint does not import the AWS
// SDK.
//
// # Concurrency
//
// A Codec holds nothing and may be used from several goroutines.
package keymap
