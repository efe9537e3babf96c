package streamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	ddbschemas "github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
)

// answer is an HTTP answer before it takes its way.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// answer performs a request; an error means that there is no answer.
func (s *Service) answer(ctx context.Context, header http.Header, body []byte) (answer, error) {
	a := answer{status: http.StatusOK}
	out, err := s.perform(ctx, header, body)
	whole := !maimed(err)
	var api smithy.APIError
	switch {
	case err == nil:
		a.body = out
	case errors.Is(err, errEmptied):
		err = nil
	case errors.Is(err, errTorn):
		a.body, err = out[:len(out)/2], nil
	case errors.As(err, &api):
		a.status = statusOf(api)
		a.body, err = encodeError(ctx, api)
	}
	if err != nil {
		return answer{}, err
	}
	// The Date is the service's time: readers take the origin of a pipeline from it.
	a.header = http.Header{
		"Content-Type":     {"application/x-amz-json-1.0"},
		"Content-Length":   {strconv.Itoa(len(a.body))},
		"Date":             {s.Time().UTC().Format(http.TimeFormat)},
		"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10)},
		"X-Amzn-Requestid": {s.requestID()},
	}
	if !whole {
		a.header.Del("X-Amz-Crc32")
	}
	return a, nil
}

func (s *Service) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draws++
	return fmt.Sprintf("STREAMTEST%042X", mix(s.cfg.Seed+s.draws))
}

func encodeError(ctx context.Context, api smithy.APIError) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	var failed *types.ConditionalCheckFailedException
	if errors.As(api, &failed) && failed.Item != nil {
		body, err := encode(ctx, failedSchema, failed)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &fields); err != nil {
			return nil, err
		}
	}
	namespace := "com.amazonaws.dynamodb.v20120810#"
	if code := api.ErrorCode(); code == "ValidationException" || code == "ThrottlingException" || code == "SerializationException" {
		namespace = "com.amazon.coral.validate#"
	}
	for name, text := range map[string]string{"__type": namespace + api.ErrorCode(), "message": api.ErrorMessage()} {
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		fields[name] = quoted
	}
	return json.Marshal(fields)
}

var failedSchema = smithy.NewOperationSchema(ddbschemas.ConditionalCheckFailedException, ddbschemas.ConditionalCheckFailedException, nil)

// ServeHTTP speaks the JSON protocol of DynamoDB and of DynamoDB Streams, told
// apart by X-Amz-Target. Any credentials will do.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, err := s.answer(r.Context(), r.Header, body)
	if err != nil {
		// net/http breaks the connection of a handler that aborts.
		panic(http.ErrAbortHandler)
	}
	for name, v := range a.header {
		w.Header()[name] = v
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// RoundTrip makes a Service an http.RoundTripper: the real SDK without a
// network, as AWSConfig sets it up.
func (s *Service) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	a, err := s.answer(r.Context(), r.Header, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}, nil
}

// AWSConfig configures the real SDK clients to call this Service in process:
// JSON, signing, retries and metadata as always, only no network, so that they
// work in a testing/synctest bubble.
func (s *Service) AWSConfig() aws.Config {
	cfg := s.awsConfig("http://dynamodb.streamtest.invalid")
	cfg.HTTPClient = &http.Client{Transport: s}
	return cfg
}

func (s *Service) awsConfig(url string) aws.Config {
	return aws.Config{
		Region:       s.cfg.Region,
		BaseEndpoint: aws.String(url),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "streamtest", SecretAccessKey: "streamtest", Source: "streamtest"}, nil
		}),
	}
}

// Server is a Service on a port of the loopback interface.
type Server struct {
	service *Service
	url     string
	http    *http.Server
	done    chan struct{}
	calls   sync.WaitGroup
}

// Serve listens on a free port of the loopback interface. The caller closes
// the Server.
func (s *Service) Serve() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("streamtest: %w", err)
	}
	srv := &Server{service: s, url: "http://" + l.Addr().String(), done: make(chan struct{})}
	srv.http = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			srv.calls.Add(1)
			defer srv.calls.Done()
			s.ServeHTTP(w, r)
		}),
	}
	go func() {
		defer close(srv.done)
		_ = srv.http.Serve(l)
	}()
	return srv, nil
}

// URL is the endpoint for both clients.
func (s *Server) URL() string { return s.url }

// AWSConfig configures the real SDK clients to call this Server.
func (s *Server) AWSConfig() aws.Config { return s.service.awsConfig(s.url) }

// Close breaks all connections and waits for what was being answered. The
// Service lives on and may be served again, on another port.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	s.calls.Wait()
	return err
}
