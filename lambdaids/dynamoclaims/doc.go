// Package dynamoclaims keeps lambdaids.Claims in a DynamoDB table.
//
// # The table
//
// It has the hash key "key" (S) and no range key. A row holds the claim's token
// (S), its state (S: "claimed" or "applied"), lease_until (N, milliseconds) while
// it is claimed, and expires_at (N, seconds): name the last one as the table's
// time-to-live attribute. The function needs dynamodb:UpdateItem, DeleteItem and
// GetItem on it.
//
// # Guarantees
//
// Every method is one conditional write. A write whose answer was lost may be
// repeated, as the SDK does by itself: it finds its own token. An answer that did
// not arrive whole is repeated like one that was lost, and claims nothing.
//
// # Non-guarantees
//
// A row counts until it expires (Config.TTL), whether or not DynamoDB has removed
// it by then; a record that comes later is applied again. Leases and expiries are
// compared with the clocks of the functions.
//
// # Concurrency
//
// A Claims is safe for concurrent use, by any number of processes.
package dynamoclaims
