package whole

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrTorn is behind the error of every call whose last answer did not arrive whole.
var ErrTorn = errors.New("the answer did not arrive whole")

// Answers is for the APIOptions of clients that speak JSON.
func Answers(stack *middleware.Stack) error {
	if _, there := stack.Deserialize.Get(answers{}.ID()); there {
		return nil
	}
	// Right before the answer is decoded: it is unpacked by then.
	return stack.Deserialize.Insert(answers{}, "OperationDeserializer", middleware.After)
}

// Call is Answers as an option of one call.
func Call(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, Answers) }

type answers struct{}

func (answers) ID() string { return "WholeAnswers" }

func (answers) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, md, err := next.HandleDeserialize(ctx, in)
	resp, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok {
		return out, md, err
	}
	body, err := io.ReadAll(resp.Body)
	// What Close says is the SDK's comparison of a checksum, which differs as well
	// where a server sends none.
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil {
		err = legible(resp.StatusCode, body)
	}
	if err != nil {
		return out, md, &smithy.DeserializationError{Err: &torn{err}}
	}
	return out, md, nil
}

// legible quotes nothing: the body holds what the caller's items say. What a
// server's fault says does not matter, and a refusal may come from somebody
// between who speaks no JSON.
func legible(status int, body []byte) error {
	text := bytes.TrimSpace(body)
	switch {
	case status >= 500:
		return nil
	case len(text) == 0:
		return errors.New("it has no body")
	case (status < 300 || text[0] == '{') && !json.Valid(text):
		return fmt.Errorf("its body of %d bytes is no JSON", len(body))
	}
	return nil
}

type torn struct{ why error }

func (t *torn) Error() string { return ErrTorn.Error() + ": " + t.why.Error() }

func (t *torn) Unwrap() []error { return []error{ErrTorn, t.why} }

// RetryableError is what the SDK's retryer asks.
func (t *torn) RetryableError() bool { return !errors.Is(t.why, context.Canceled) }
