package shards

import "fmt"

// Op is the call that failed.
type Op uint8

// The calls of a stream's reader.
const (
	DescribeStream Op = iota
	GetShardIterator
	GetRecords
)

// String is the service's name of the call.
func (o Op) String() string {
	switch o {
	case DescribeStream:
		return "DescribeStream"
	case GetShardIterator:
		return "GetShardIterator"
	case GetRecords:
		return "GetRecords"
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Action is what a reader does about a condition.
type Action uint8

// The actions. None of them is "try the same again at once".
const (
	// Retry: ask the same again after a pause; terminal when nothing succeeds
	// for the reader's give-up time.
	Retry Action = iota
	// BackOff: as Retry, with a longer pause: the service asked for it.
	BackOff
	// Renew: the iterator is spent; Resolve again and ask for a new one.
	Renew
	// GapTrimmed: the shard is there, the position is not: report the gap,
	// then stop or continue by policy.
	GapTrimmed
	// GapGone: the shard is gone with whatever was not read of it: report the
	// gap, then stop or continue with its children by policy.
	GapGone
	// StreamGone: the stream is gone; terminal.
	StreamGone
	// Terminal: it fails for ever; stop and say so.
	Terminal
)

// String is the action's name.
func (a Action) String() string {
	names := [...]string{"retry", "back-off", "renew", "gap-trimmed", "gap-gone", "stream-gone", "terminal"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Classify is the table condition → action (S4). Code is the service's error
// code; "" is everything without one: a cut connection, a deadline, an answer
// that was not understood.
func Classify(op Op, code string) Action {
	switch code {
	case "LimitExceededException", "ProvisionedThroughputExceededException",
		"ThrottlingException", "Throttling", "ThrottledException",
		"RequestLimitExceeded", "RequestThrottled", "TooManyRequestsException":
		return BackOff
	case "ExpiredIteratorException":
		if op == GetRecords {
			return Renew
		}
		return Retry
	case "TrimmedDataAccessException":
		return GapTrimmed
	case "ResourceNotFoundException":
		// Of DescribeStream it speaks of the stream; of the others of the
		// shard, or of the stream: discovery asks and tells which.
		if op == DescribeStream {
			return StreamGone
		}
		return GapGone
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException",
		"MissingAuthenticationTokenException", "MissingAuthenticationToken",
		"IncompleteSignatureException", "IncompleteSignature", "InvalidClientTokenId",
		"NotAuthorized", "OptInRequired",
		"ValidationException", "ValidationError", "SerializationException",
		"UnknownOperationException":
		return Terminal
	}
	// InternalServerError, ServiceUnavailable, expired credentials that are
	// being refreshed, the network, and whatever comes to be named later:
	// all may pass, none for ever.
	return Retry
}
