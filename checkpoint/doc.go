// Package checkpoint makes acknowledged progress durable. It joins a
// [tracker.Frontier] for each partition to a [Store], and promises that what the
// store says is never ahead of what was delivered.
package checkpoint

import "github.com/ackgate/ackgate/tracker"

var _ = tracker.ErrSealed
