package sim

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamreader"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// attempt is a reader with its committer and a sink.
type attempt struct {
	s         *simulation
	first     bool
	began     time.Time
	committer *checkpoint.Committer
	reader    *streamreader.Reader
	done      chan struct{}
	ended     bool
	sinks     sync.WaitGroup
}

// consume hands every batch to a sink that acks within ten seconds, in any
// order, and now and then fails first.
func (a *attempt) consume() {
	defer close(a.done)
	rng := rand.New(rand.NewPCG(a.s.cfg.Seed, uint64(time.Now().UnixNano())))
	for {
		b, ack, err := a.reader.Read(context.Background())
		if err != nil {
			return
		}
		a.s.oracle.handed(b)
		delay := time.Duration(rng.Int64N(int64(10 * time.Second)))
		fails := rng.IntN(50) == 0
		a.sinks.Add(1)
		time.AfterFunc(delay, func() {
			defer a.sinks.Done()
			if fails {
				_ = ack(context.Background(), errSink)
				time.Sleep(delay)
			}
			a.s.oracle.acked(b)
			_ = ack(context.Background(), nil)
		})
	}
}

var errSink = errors.New("sim: the sink refused it")

// err is what ended the reader, nil while it runs.
func (a *attempt) err() error { return a.reader.Err() }

func (a *attempt) age() time.Duration { return time.Since(a.began) }

// crash ends everything at once: nothing more is saved.
func (a *attempt) crash() {
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	_ = a.committer.Close(dead)
	_ = a.reader.Close(dead)
	a.wait()
}

// drain ends in good order, as far as the store lets it.
func (a *attempt) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = a.reader.Drain(ctx)
	_ = a.committer.Close(ctx)
	a.wait()
}

func (a *attempt) wait() {
	<-a.done
	a.sinks.Wait()
	a.ended = true
}

func (a *attempt) end() {
	if a != nil && !a.ended {
		a.crash()
	}
}

// client watches the iterators that an attempt asks for.
type client struct {
	*streamtest.Streams
	attempt *attempt
}

func (c *client) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if in.ShardIteratorType == types.ShardIteratorTypeLatest {
		select {
		case <-c.attempt.reader.Positioned():
			c.attempt.s.oracle.resumedAtLatest() // the start is over
		default:
			if !c.attempt.first {
				c.attempt.s.oracle.resumedAtLatest()
			}
		}
	}
	return c.Streams.GetShardIterator(ctx, in, o...)
}

// store fails a share of its calls, and all of them while it is down.
type store struct {
	*checkpoint.Memory
	mu     sync.Mutex
	rng    *rand.Rand
	share  float64
	downTo time.Time
}

var errStore = errors.New("sim: the store is down")

func (s *store) fail(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share, s.downTo = share, time.Time{}
}

func (s *store) down(to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.downTo = to
}

func (s *store) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.share > 0 && (s.rng.Float64() < s.share || time.Now().Before(s.downTo)) {
		return errStore
	}
	return nil
}

func (s *store) Claim(ctx context.Context, k checkpoint.Key, owner string) (checkpoint.Checkpoint, error) {
	if err := s.err(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return s.Memory.Claim(ctx, k, owner)
}

// Save sometimes does its work and loses the answer.
func (s *store) Save(ctx context.Context, cp checkpoint.Checkpoint) error {
	if err := s.err(); err != nil {
		return err
	}
	if err := s.Memory.Save(ctx, cp); err != nil {
		return err
	}
	return s.err()
}

func (s *store) List(ctx context.Context, pipeline, prefix string) iter.Seq2[checkpoint.Checkpoint, error] {
	if err := s.err(); err != nil {
		return func(yield func(checkpoint.Checkpoint, error) bool) { yield(checkpoint.Checkpoint{}, err) }
	}
	return s.Memory.List(ctx, pipeline, prefix)
}

func (s *store) Delete(ctx context.Context, k checkpoint.Key) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Memory.Delete(ctx, k)
}

func (s *store) Begin(ctx context.Context, pipeline string, o checkpoint.Origin) (checkpoint.Origin, bool, error) {
	if err := s.err(); err != nil {
		return checkpoint.Origin{}, false, err
	}
	return s.Memory.Begin(ctx, pipeline, o)
}
