package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// source is the table to read, found and checked.
type source struct {
	tables   *dynamodb.Client
	streams  *dynamodbstreams.Client
	endpoint string // for messages

	name      string
	streamARN string
	keys      []string  // names of the key attributes
	estimate  int64     // items, as DynamoDB last counted them: up to six hours old
	now       time.Time // the server's clock: ours may be wrong
}

// preflightTimeout bounds the checks before the first read: a wrong endpoint
// must not look like a slow one.
const preflightTimeout = 30 * time.Second

// openSource makes the clients and checks what the user gave, before anything
// is written anywhere.
func openSource(ctx context.Context, o Options) (*source, error) {
	ctx, cancel := context.WithTimeout(ctx, preflightTimeout)
	defer cancel()
	cfg, err := loadConfig(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &source{name: o.Table, endpoint: "AWS in " + cfg.Region}
	if o.Endpoint != "" {
		s.endpoint = o.Endpoint
		cfg.BaseEndpoint = &o.Endpoint // else what the AWS configuration says, AWS_ENDPOINT_URL included
	}
	s.tables = dynamodb.NewFromConfig(cfg)
	s.streams = dynamodbstreams.NewFromConfig(cfg)
	out, err := s.describe(ctx)
	if err != nil {
		return nil, s.explain(err, "read table "+o.Table)
	}
	t := out.Table
	if t.StreamSpecification == nil || !aws.ToBool(t.StreamSpecification.StreamEnabled) || aws.ToString(t.LatestStreamArn) == "" {
		return nil, invalid("table "+o.Table+" has no stream", "enable it with: aws dynamodb update-table --table-name "+o.Table+
			" --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES")
	}
	s.streamARN = *t.LatestStreamArn
	s.estimate = aws.ToInt64(t.ItemCount)
	var ok bool
	if s.now, ok = awsmiddleware.GetServerTime(out.ResultMetadata); !ok {
		s.now = time.Now()
	}
	for _, k := range t.KeySchema {
		s.keys = append(s.keys, aws.ToString(k.AttributeName))
	}
	return s, nil
}

// describe repeats what the SDK does not: a call whose answer was torn on its way.
func (s *source) describe(ctx context.Context) (out *dynamodb.DescribeTableOutput, err error) {
	err = again(ctx, torn, func() error {
		out, err = s.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.name})
		if err == nil && out.Table == nil {
			err = errNoBody
		}
		return err
	})
	return out, err
}

// again calls f until it succeeds, fails in a way that does not pass, or failed
// maxFailures times.
func again(ctx context.Context, passes func(error) bool, f func() error) error {
	for failures := 1; ; failures++ {
		err := f()
		if err == nil || failures == maxFailures || !passes(err) {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond<<failures); err != nil {
			return err
		}
	}
}

// errNoBody is an answer of success without a body: to the SDK that is one
// without a table.
var errNoBody = errors.New("DescribeTable: the answer has no body")

// torn reports an answer of which only a part arrived.
func torn(err error) bool {
	var unread *smithy.DeserializationError
	return errors.Is(err, errNoBody) || errors.As(err, &unread)
}

// passing reports an error that may be gone in a moment: a torn answer, a fault
// of the server's, a throttle, no answer at all.
func passing(err error) bool {
	var api smithy.APIError
	switch {
	case isInput(err) || errors.Is(err, context.Canceled):
		return false
	case torn(err):
		return true
	case errors.As(err, &api):
		return api.ErrorFault() == smithy.FaultServer || retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err).Bool()
	}
	var call *smithy.OperationError
	return errors.As(err, &call)
}

// tornAt says so, with a remedy.
func (s *source) tornAt(err error) error {
	return fmt.Errorf("the answers of %s do not arrive whole: start again; if it stays so, check -endpoint and what stands between, a proxy or a load balancer (%w)", s.endpoint, err)
}

// loadConfig is the AWS default chain, with the two ways in which it commonly
// fails said in words.
func loadConfig(ctx context.Context, o Options) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, func(l *config.LoadOptions) error {
		l.Logger = logging.Nop{} // errors come back as errors; the rest would tear the progress line
		if o.Region != "" {
			l.Region = o.Region
		}
		return nil
	})
	if err != nil {
		return cfg, invalidErr(err, "mend the AWS configuration (AWS_PROFILE, ~/.aws/config)", "the AWS configuration cannot be read (%v)", err)
	}
	if cfg.Region == "" {
		if o.Endpoint == "" {
			return cfg, invalid("no AWS region is set", "give -region, or set AWS_REGION")
		}
		cfg.Region = "us-east-1" // a server other than AWS needs some region in signatures
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return cfg, ctx.Err()
		}
		return cfg, invalidErr(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is attached", "no AWS credentials were found")
	}
	return cfg, nil
}

// explain turns what AWS answered before the first read into a sentence with a
// remedy. What it does not know stays as it is.
func (s *source) explain(err error, doing string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return invalidErr(err, "check -table, -region and the account of the credentials", "there is no table %s at %s", s.name, s.endpoint)
	}
	if said := refusedByAWS(err); said != nil {
		return said
	}
	if torn(err) {
		return s.tornAt(fmt.Errorf("%s: %w", doing, err))
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return invalidErr(err, "check -endpoint, -region and the network", "%s does not answer (%v)", s.endpoint, rootCause(err))
	}
	return fmt.Errorf("%s at %s: %w", doing, s.endpoint, err)
}

// refusedByAWS is a sentence for errors that only other credentials or rights
// can mend, whichever package met them, and nil for others.
func refusedByAWS(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	switch api.ErrorCode() {
	case "UnrecognizedClientException", "InvalidSignatureException", "InvalidClientTokenId", "MissingAuthenticationTokenException", "IncompleteSignatureException":
		return invalidErr(err, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the profile", "the credentials are refused (%s)", api.ErrorCode())
	case "ExpiredTokenException", "ExpiredToken":
		return invalidErr(err, "renew them, for instance with aws sso login", "the credentials have expired")
	case "AccessDeniedException":
		return invalidErr(err, "allow DescribeTable and Scan on the table, DescribeStream, GetShardIterator and GetRecords on its stream, and what doc/dynamostore.md lists on the checkpoint table",
			"the credentials lack a right (%s)", api.ErrorMessage())
	}
	return nil
}

// rootCause is the innermost error: what the operating system said, without
// the SDK's five layers around it.
func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
