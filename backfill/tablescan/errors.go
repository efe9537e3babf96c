package tablescan

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

var (
	// ErrTableGone is returned by PlanBackfill, StartBackfill and Read when the
	// table does not exist, or does not exist any more.
	ErrTableGone = errors.New("tablescan: the table does not exist")
	// ErrTableReplaced is returned by StartBackfill and Read when the table was
	// deleted and created again, or restored, since the plan was made: the
	// positions belong to the old one.
	ErrTableReplaced = errors.New("tablescan: the table was replaced since the backfill began: " +
		"begin again with a new word in backfill.Config.Restart")
	// ErrNotStarted is returned by Read before StartBackfill.
	ErrNotStarted = errors.New("tablescan: not started: call StartBackfill first, as backfill.Runner does")
	// ErrClosed is returned by Read after Close, and by an AckFunc of an attempt
	// that is over.
	ErrClosed = errors.New("tablescan: closed")
)

// errHollow is an answer of success that lacks what every such answer has: its
// body was lost, and the SDK takes none for an empty one. An empty answer of Scan
// must not pass for the end of a segment.
var errHollow = errors.New("tablescan: the answer arrived without its body")

// unreadable is an answer of success that the SDK could not read, without what
// the SDK says of it, which may quote an item.
type unreadable struct{ err error }

func (e *unreadable) Error() string {
	if cut(e.err) {
		return "tablescan: the answer was cut on its way"
	}
	return "tablescan: the answer cannot be read"
}

func (e *unreadable) Unwrap() error { return e.err }

// statusOf is the HTTP status of the answer behind err, 0 if none came.
func statusOf(err error) int {
	var answered interface{ HTTPStatusCode() int }
	if errors.As(err, &answered) {
		return answered.HTTPStatusCode()
	}
	return 0
}

// quiet is err without words from the body of an answer that cannot be read.
func quiet(err error) error {
	var d *smithy.DeserializationError
	if errors.As(err, &d) {
		return &unreadable{err}
	}
	return err
}

// cut reports whether a connection failed, perhaps while an answer arrived.
func cut(err error) bool {
	var network net.Error
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &network)
}

// retryable reports whether the same request may succeed later: throttling, the
// server's own faults, a connection that failed, and an answer of success that
// cannot be read, since it mostly is the half of one. What the request or its
// rights are at fault for is not.
func retryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ProvisionedThroughputExceededException", "ThrottlingException", "Throttling",
			"RequestLimitExceeded", "LimitExceededException", "InternalServerError",
			"InternalServerErrorException", "ServiceUnavailable", "ServiceUnavailableException",
			"RequestTimeout", "RequestTimeoutException":
			return true
		}
		return api.ErrorFault() == smithy.FaultServer
	}
	if cut(err) || errors.Is(err, errHollow) {
		return true // a refusal that was cut, too: what it said is not known
	}
	if status := statusOf(err); status > 0 {
		return status < 300 || status >= 500 || status == 408 || status == 429
	}
	var params smithy.InvalidParamsError
	var unsent *smithy.SerializationError
	if errors.As(err, &params) || errors.As(err, &unsent) {
		return false
	}
	var unread *smithy.DeserializationError
	var op *smithy.OperationError
	return errors.As(err, &unread) || errors.As(err, &op)
}

// gone reports whether err says that there is no such table.
func gone(err error) bool {
	var notFound *types.ResourceNotFoundException
	return errors.As(err, &notFound)
}
