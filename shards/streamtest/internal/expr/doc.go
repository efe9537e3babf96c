// Package expr reads and evaluates DynamoDB's expressions: condition and
// filter, update, key condition, projection. It is a small compiler: tokens,
// a recursive descent parser per kind of expression, a tree that is evaluated
// against an item. Whatever the grammar does not know is refused by name, as
// are undefined, unused and reserved names: a client must not pass here and
// fail on AWS.
//
// # Non-guarantees
//
// The wording of errors follows AWS's where tools are known to match on it, and
// is otherwise its own.
//
// # Concurrency
//
// Parsed expressions are immutable. A Scope belongs to one request.
package expr
