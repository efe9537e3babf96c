package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackgate/ackgate/bench/report"
	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/dynamostore"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// counting counts the HTTP requests that the SDK really sends.
type counting struct {
	next aws.HTTPClient
	n    atomic.Int64
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.Do(r)
}

// requests commits through the real SDK and dynamostore, and counts what
// crosses the wire for it.
func requests(s *report.Suite) error {
	ctx := context.Background()
	service := streamtest.New(streamtest.Config{})
	cfg := service.AWSConfig()
	wire := &counting{next: cfg.HTTPClient}
	cfg.HTTPClient = wire
	client := dynamodb.NewFromConfig(cfg)
	if err := dynamostore.EnsureTable(ctx, client, "checkpoints"); err != nil {
		return err
	}
	var commits atomic.Int64
	o, err := open(dynamostore.New(client, "checkpoints"), checkpoint.WithHooks(checkpoint.Hooks{
		Committed: func(checkpoint.Checkpoint) { commits.Add(1) },
	}))
	if err != nil {
		return err
	}
	wire.n.Store(0)
	const rounds = 3
	for round := range rounds {
		for i, p := range o.all {
			// Many acks, and only some of the partitions: a commit is what costs.
			if i%3 == round {
				continue
			}
			for range 10 {
				o.next++
				t, err := p.Track(ctx, o.next, 1)
				if err != nil {
					return err
				}
				t.Ack()
			}
		}
		if err := o.c.Flush(ctx); err != nil {
			return err
		}
	}
	got := float64(wire.n.Load()) / float64(commits.Load())
	fmt.Printf("requests per commit %g\n", got)
	s.Value("commits-counted", float64(commits.Load()), "commits")
	s.AtMost("requests per commit", got, 1)
	return o.c.Close(ctx)
}
