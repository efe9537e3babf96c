package tablescan

import (
	"context"
	"errors"
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

// retryable reports whether the same request may succeed later: throttling, the
// server's own faults, a connection that failed, and an answer that cannot be
// read, since it mostly is the half of one. What the request or its rights are
// at fault for is not.
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
	var status interface{ HTTPStatusCode() int }
	if errors.As(err, &status) && status.HTTPStatusCode() > 0 {
		code := status.HTTPStatusCode()
		return code < 300 || code >= 500 || code == 429
	}
	var network net.Error
	var op *smithy.OperationError
	return errors.As(err, &network) || errors.As(err, &op) || errors.Is(err, context.DeadlineExceeded)
}

// gone reports whether err says that there is no such table.
func gone(err error) bool {
	var notFound *types.ResourceNotFoundException
	return errors.As(err, &notFound)
}
