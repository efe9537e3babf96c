package tracker

import "errors"

var (
	// ErrSealed is returned by Track, TryTrack, TrackHold and TrackAll after
	// Seal, also to calls that were waiting then.
	ErrSealed = errors.New("tracker: sealed: no more items can be tracked")
	// ErrAbandoned is returned by Track, TryTrack, TrackHold and TrackAll after
	// Abandon, also to calls that were waiting then.
	ErrAbandoned = errors.New("tracker: abandoned: the partition is no longer owned by this attempt")
	// ErrLimit is returned by TryTrack when the limit would be exceeded.
	ErrLimit = errors.New("tracker: limit reached: settle outstanding items first")
)
