//go:build integration

package servers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// Region and the key pair are what clients and subprocesses give: the servers
// accept any, but some keep tables apart by them.
const (
	Region    = "us-east-1"
	AccessKey = "AKIDEXAMPLE"
	SecretKey = "secret"
)

// Server is a running server.
type Server struct {
	Name string // moto, dynalite or kumo
	URL  string // http://127.0.0.1:port

	fromEnv bool
	stop    sync.Once
	end     func() error
	err     error
}

// At is a server that runs at url already: Stop leaves it alone. Its clients take
// region and key pair from AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
// and AWS_SESSION_TOKEN, as far as those are set.
func At(name, url string) *Server {
	return &Server{Name: name, URL: url, fromEnv: true, end: func() error { return nil }}
}

// Stop ends the server and waits for its end. Only the first call does.
func (s *Server) Stop() error {
	s.stop.Do(func() { s.err = s.end() })
	return s.err
}

// DynamoDB is a client of the server.
func (s *Server) DynamoDB(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.NewFromConfig(s.config(), optFns...)
}

// Streams is a client of the server's DynamoDB Streams; dynalite has none.
func (s *Server) Streams(optFns ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(s.config(), optFns...)
}

func (s *Server) config() aws.Config {
	region, key, secret, token := Region, AccessKey, SecretKey, ""
	if s.fromEnv {
		region = cmp.Or(os.Getenv("AWS_REGION"), region)
		if k := os.Getenv("AWS_ACCESS_KEY_ID"); k != "" {
			key, secret, token = k, os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
		}
	}
	return aws.Config{
		Region:       region,
		BaseEndpoint: &s.URL,
		Credentials:  credentials.NewStaticCredentialsProvider(key, secret, token),
	}
}

// Env is the environment that makes the AWS SDK of a subprocess use the server.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.URL,
		"AWS_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + SecretKey,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Starter is a function that starts one of the servers.
type Starter struct {
	Name  string
	Start func(context.Context) (*Server, error)
}

// All starts each server that this package knows.
func All() []Starter {
	return []Starter{{"moto", StartMoto}, {"dynalite", StartDynalite}, {"kumo", StartKumo}}
}

// answers waits until the server answers any HTTP request at all.
func answers(ctx context.Context, url string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("servers: %s does not answer: %w", url, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
