package whole_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/internal/whole"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// way changes the answers of a service before they arrive.
type way struct {
	service *streamtest.Service
	change  func(call int, answer *http.Response, body []byte) []byte
	calls   int
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.service.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.calls++
	body, _ := io.ReadAll(answer.Body)
	body = w.change(w.calls, answer, body)
	answer.ContentLength = int64(len(body))
	if answer.Body = io.NopCloser(bytes.NewReader(body)); answer.Header.Get("X-Broken") != "" {
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{}))
	}
	return answer, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// client is one of a table with one item, whose answers w changes.
func client(t *testing.T, w *way) *dynamodb.Client {
	w.service = streamtest.New(streamtest.Config{})
	require.NoError(t, w.service.CreateTable(streamtest.Table{Name: "orders", Hash: "id"}))
	_, err := w.service.Put("orders", key())
	require.NoError(t, err)
	cfg := w.service.AWSConfig()
	cfg.HTTPClient = &http.Client{Transport: w}
	cfg.APIOptions = append(cfg.APIOptions, whole.Answers)
	return dynamodb.NewFromConfig(cfg)
}

func key() streamtest.Item {
	return streamtest.Item{"id": &types.AttributeValueMemberS{Value: "heart-of-gold"}}
}

func get(t *testing.T, c *dynamodb.Client) (streamtest.Item, error) {
	out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key()})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// The ways in which an answer does not arrive whole.
var tears = map[string]func(*http.Response, []byte) []byte{
	"no body": func(a *http.Response, _ []byte) []byte {
		a.Header.Del("X-Amz-Crc32")
		return nil
	},
	"no body, and its checksum": func(*http.Response, []byte) []byte { return nil },
	"half of it": func(a *http.Response, body []byte) []byte {
		a.Header.Del("X-Amz-Crc32")
		return body[:len(body)/2]
	},
	"half of it, and its checksum": func(_ *http.Response, body []byte) []byte { return body[:len(body)/2] },
	"a broken connection": func(a *http.Response, body []byte) []byte {
		a.Header.Set("X-Broken", "yes")
		return body[:len(body)/2]
	},
	"a page of somebody between": func(a *http.Response, _ []byte) []byte {
		a.Header.Del("X-Amz-Crc32")
		return []byte("<html>don't panic</html>")
	},
	"a refusal without a body": func(a *http.Response, _ []byte) []byte {
		a.StatusCode = http.StatusBadRequest
		return nil
	},
	"half a refusal, as if it were all": func(a *http.Response, _ []byte) []byte {
		a.StatusCode = http.StatusBadRequest
		return []byte(`{"__type":"com.amazonaws`)
	},
	"half a refusal": func(a *http.Response, _ []byte) []byte {
		a.StatusCode = http.StatusBadRequest
		a.Header.Set("X-Broken", "yes")
		return []byte(`{"__type":"com.amazonaws`)
	},
}

func TestTornAnswerIsAskedForAgain(t *testing.T) {
	for name, tear := range tears {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &way{change: func(call int, a *http.Response, body []byte) []byte {
					if call <= 2 {
						return tear(a, body)
					}
					return body
				}}
				item, err := get(t, client(t, w))
				require.NoError(t, err)
				require.Equal(t, key(), item)
				require.Equal(t, 3, w.calls)
			})
		})
		t.Run(name+", for ever", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &way{change: func(_ int, a *http.Response, body []byte) []byte { return tear(a, body) }}
				c := client(t, w)
				_, err := get(t, c)
				require.ErrorIs(t, err, whole.ErrTorn)
				require.ErrorContains(t, err, "GetItem")
				require.NotContains(t, err.Error(), "heart")
				require.NotContains(t, err.Error(), "panic")
				require.Equal(t, c.Options().Retryer.MaxAttempts(), w.calls, "the SDK's own bound")
			})
		})
	}
}

func TestWholeAnswersPass(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*http.Response, []byte) []byte
		check  func(*testing.T, streamtest.Item, error)
	}{
		"as it is": {
			func(_ *http.Response, body []byte) []byte { return body },
			func(t *testing.T, item streamtest.Item, err error) {
				require.NoError(t, err)
				require.Equal(t, key(), item)
			},
		},
		"packed": {
			func(a *http.Response, body []byte) []byte {
				a.Header.Del("X-Amz-Crc32")
				a.Header.Set("Content-Encoding", "gzip")
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, _ = z.Write(body)
				_ = z.Close()
				return b.Bytes()
			},
			func(t *testing.T, item streamtest.Item, err error) {
				require.NoError(t, err)
				require.Equal(t, key(), item)
			},
		},
		"no such item": {
			func(a *http.Response, _ []byte) []byte {
				a.Header.Del("X-Amz-Crc32")
				return []byte("{}")
			},
			func(t *testing.T, item streamtest.Item, err error) {
				require.NoError(t, err)
				require.Empty(t, item)
			},
		},
		"a refusal": {
			func(a *http.Response, _ []byte) []byte {
				a.StatusCode = http.StatusBadRequest
				a.Header.Del("X-Amz-Crc32")
				return []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"gone"}`)
			},
			func(t *testing.T, _ streamtest.Item, err error) {
				var gone *types.ResourceNotFoundException
				require.ErrorAs(t, err, &gone)
				require.NotErrorIs(t, err, whole.ErrTorn)
			},
		},
		"a refusal by somebody between": {
			func(a *http.Response, _ []byte) []byte {
				a.StatusCode = http.StatusForbidden
				a.Header.Del("X-Amz-Crc32")
				return []byte("<html>don't panic</html>")
			},
			func(t *testing.T, _ streamtest.Item, err error) {
				require.Error(t, err)
				require.NotErrorIs(t, err, whole.ErrTorn)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &way{change: func(_ int, a *http.Response, body []byte) []byte { return tc.change(a, body) }}
				c := client(t, w)
				c = dynamodb.New(c.Options(), func(o *dynamodb.Options) { o.EnableAcceptEncodingGzip = name == "packed" })
				item, err := get(t, c)
				tc.check(t, item, err)
				require.Equal(t, 1, w.calls)
			})
		})
	}
}

func TestAnswersTwiceIsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &way{change: func(_ int, _ *http.Response, body []byte) []byte { return body }}
		_, err := client(t, w).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key()}, whole.Call)
		require.NoError(t, err)
	})
}

// A call that must not be made twice is not.
func TestOneCallStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &way{change: func(_ int, a *http.Response, body []byte) []byte { return tears["no body"](a, body) }}
		_, err := client(t, w).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key()},
			func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		require.ErrorIs(t, err, whole.ErrTorn)
		require.Equal(t, 1, w.calls)
	})
}

func TestCancelledIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &way{change: func(_ int, a *http.Response, body []byte) []byte {
			cancel()
			return tears["a broken connection"](a, body)
		}}
		_, err := client(t, w).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key()})
		require.True(t, errors.Is(err, context.Canceled), "%v", err)
		require.Equal(t, 1, w.calls)
	})
}
