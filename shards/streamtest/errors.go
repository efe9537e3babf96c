package streamtest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

// errCut is a connection that broke: the HTTP server breaks it, a direct
// client returns it.
var errCut = errors.New("streamtest: connection reset by peer (fault schedule)")

// errEmptied and errTorn are answers that lost their body, or half of it: HTTP
// sends what is left, a direct client returns what the SDK makes of that.
var (
	errEmptied = errors.New("streamtest: the answer lost its body (fault schedule)")
	errTorn    = errors.New("streamtest: the answer lost half its body (fault schedule)")
)

func maimed(err error) bool { return errors.Is(err, errEmptied) || errors.Is(err, errTorn) }

// ValidationException is in neither SDK's model: clients see a generic error.
func invalid(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

func noSuchTable(name string) error {
	return &types.ResourceNotFoundException{Message: aws.String("Requested resource not found: Table: " + name + " not found")}
}

func noSuchStream(arn string) error {
	return &streams.ResourceNotFoundException{Message: aws.String("Requested resource not found: Stream: " + arn + " not found")}
}

func noSuchShard(id, arn string) error {
	return &streams.ResourceNotFoundException{Message: aws.String("Requested resource not found: Shard: " + id + " in Stream: " + arn + " not found")}
}

func trimmedAccess(shardID string) error {
	return &streams.TrimmedDataAccessException{Message: aws.String("The operation attempted to read past the oldest stream record in shard " + shardID)}
}

// faultError is the error of a fault, as the SDK of the operation types it.
func faultError(f Fault, ofStreams bool) error {
	switch f {
	case Throttle:
		if ofStreams {
			return &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded", Fault: smithy.FaultClient}
		}
		return &types.ThrottlingException{Message: aws.String("Rate exceeded")}
	case LimitExceeded:
		if ofStreams {
			return &streams.LimitExceededException{Message: aws.String("Rate of requests exceeded for the shard or stream")}
		}
		return &types.ProvisionedThroughputExceededException{Message: aws.String("The level of configured provisioned throughput for the table was exceeded")}
	case Internal:
		if ofStreams {
			return &streams.InternalServerError{Message: aws.String("Internal server error")}
		}
		return &types.InternalServerError{Message: aws.String("Internal server error")}
	case Cut, LostAnswer:
		return errCut
	case Emptied:
		return errEmptied
	case Torn:
		return errTorn
	}
	return nil
}

// statusOf is the HTTP status of an API error.
func statusOf(err smithy.APIError) int {
	if err.ErrorCode() == "InternalServerError" {
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
