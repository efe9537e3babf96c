package lambdaids

import (
	"context"
	"log/slog"
	"time"
)

// Policy says what happens to a failed record that has no usable identifier:
// reporting "" would retry everything, leaving it out would lose it silently.
// Whatever the policy, it is counted, hooked and logged.
type Policy uint8

const (
	// DefaultPolicy is Widen where an answer is a checkpoint (DynamoDB Streams,
	// Kinesis) and FailBatch elsewhere.
	DefaultPolicy Policy = iota
	// Widen reports the nearest earlier record of the batch that has an
	// identifier: a few more duplicates, nothing lost. If there is none, the batch
	// fails. Where Lambda retries exactly what is named (SQS) or may do so (Kafka),
	// naming a neighbour would lose the record: there Widen is FailBatch.
	Widen
	// FailBatch returns an error for the invocation: everything is retried.
	FailBatch
	// Drop leaves the record out of the answer and so loses it.
	Drop
)

func (p Policy) String() string {
	return [...]string{"DefaultPolicy", "Widen", "FailBatch", "Drop"}[p]
}

func (p Policy) resolve(k Kind) Policy {
	switch {
	case p == Drop:
		return Drop
	case k.Rewinds() && p != FailBatch:
		return Widen
	}
	return FailBatch
}

// AfterFailure says what is still started once a record failed.
type AfterFailure uint8

const (
	// Stop starts nothing more of what is ordered with the failed record: the
	// shard, the message group, the partition. It is delivered again anyway. On a
	// standard queue nothing is ordered, and the rest goes on.
	Stop AfterFailure = iota
	// StopAll starts nothing more of the batch. It is what the AWS documentation
	// asks for on FIFO queues; Stop keeps order too, and retries less.
	StopAll
	// Continue goes on with everything. On a stream the rest is delivered again
	// all the same, so its work is done twice.
	Continue
)

// AllFailed says what an invocation returns in which no record succeeded.
type AllFailed uint8

const (
	// Report returns the identifiers, as for any other failure.
	Report AllFailed = iota
	// ReturnError returns a BatchError. An error also bisects the batch where the
	// mapping asks for it, and shows in the function's error metric.
	ReturnError
)

// Handler processes one record. It gets a pointer into the event, because the
// event types are large; it must not keep it beyond its return.
type Handler[R any] func(ctx context.Context, rec *R) error

// Config sets up a Processor. The zero value is ready.
type Config[R any] struct {
	// Unreportable is the policy for failed records without identifier.
	Unreportable Policy
	// AfterFailure is what is still started after a failure. Default Stop.
	AfterFailure AfterFailure
	// AllFailed is what is returned when nothing succeeded. Default Report.
	AllFailed AllFailed

	// Concurrency bounds how many records are processed at once: messages of a
	// standard queue, groups of a FIFO queue, partitions of Kafka. On streams it
	// gives up the order inside the batch, unless Key keeps it. Default 1.
	Concurrency int
	// Key, with Concurrency on a stream or a standard queue, names what stays in
	// order: records of one key are processed one after another. Default nil:
	// nothing does. Message groups and partitions need none.
	Key func(rec *R) string

	// Margin is how long before the context's deadline no record is started any
	// more and the handler's context ends, so that the answer is out before Lambda
	// kills the invocation. Default 0: a tenth of the remaining time, at most a
	// second. Negative: none.
	Margin time.Duration

	// MaxAttempts is how often a record is tried in one invocation; Lambda's own
	// retries come on top. A Permanent error ends them. Default 1.
	MaxAttempts int
	// Backoff is the pause before the n-th attempt, from 2. Default nil: none.
	Backoff func(attempt int) time.Duration
	// DeadLetter takes a record whose error is Permanent or, if MaxAttempts is
	// set, whose attempts are used up. Once it returns nil the record is settled
	// and never reported; its own error is a failure of the record. Default nil:
	// such records fail.
	DeadLetter func(ctx context.Context, rec *R, err error) error

	// OnFailed is called for each record that failed, in batch order, after the
	// batch. Default nil: one warning a batch is logged instead.
	OnFailed func(ctx context.Context, rec *R, err error)
	// OnUnreportable is called for each failed record without identifier.
	OnUnreportable func(ctx context.Context, rec *R, err error)
	// OnBatch is called after each batch. The report is valid until it returns.
	OnBatch func(ctx context.Context, r *BatchReport[R])

	// Logger takes the warnings. Default nil: slog.Default.
	Logger *slog.Logger
}

func (c Config[R]) validate() {
	switch {
	case c.Concurrency < 0:
		panic("lambdaids: Config.Concurrency is negative")
	case c.MaxAttempts < 0:
		panic("lambdaids: Config.MaxAttempts is negative")
	case c.Unreportable > Drop, c.AfterFailure > Continue, c.AllFailed > ReturnError:
		panic("lambdaids: Config has an unknown policy")
	}
}

const maxDefaultMargin = time.Second

func (c Config[R]) margin(remaining time.Duration) time.Duration {
	switch {
	case c.Margin < 0:
		return 0
	case c.Margin > 0:
		return c.Margin
	}
	return max(0, min(remaining/10, maxDefaultMargin))
}
