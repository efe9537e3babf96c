package streamreader

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

// 684 retained shards, a tenth of all calls failing, and a service that answers
// no more than ten calls a second: a discovery that is all or nothing never ends
// there, and nothing is ever read while the status says running.
func TestS3_DiscoveryConvergesOverManyShardsAndFailures(t *testing.T) {
	// With the limit known to the reader, and found out by being refused.
	t.Run("within the limit", func(t *testing.T) { converges(t, 9, 20*time.Minute) })
	t.Run("against the limit", func(t *testing.T) { converges(t, 0, time.Hour) })
}

func converges(t *testing.T, callRate float64, within time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		const open, generations = 114, 6
		w := newWorld(t, streamtest.Config{Seed: 3}, open)
		w.begin(checkpoint.StartTrimHorizon)
		for g := range generations {
			if g > 0 {
				w.rotate()
			}
			w.put(open)
			time.Sleep(3 * time.Hour)
		}
		require.Len(t, w.service.Shards(table), open*generations)
		w.service.SetFaults(map[string]streamtest.FaultRates{"*": {Throttle: .02, LimitExceeded: .02, Internal: .02, Cut: .02, LostAnswer: .02}})

		strict := &tenASecond{}
		began := time.Now()
		r := w.start(nil, func(c *Config) {
			c.CallRate = callRate
			c.Client.(*client).before = strict.admit
		})
		// Progress is to be seen early, long before the discovery has ended.
		w.await(time.Minute, "a first record", func() bool { return w.delivered() > 0 })
		w.awaitAll(within, 1)
		w.await(within, "every open shard is being read", func() bool {
			c := r.reader.Health().Lineage
			return c.Waiting == 0 && c.Complete == open*(generations-1) && c.Reading == open
		})
		t.Logf("converged in %v of virtual time, %d calls, %d refused by the limit", time.Since(began), strict.calls, strict.refused)
		require.Zero(t, w.stale)
		require.Empty(t, w.gaps)
		require.NoError(t, r.reader.Err())
		r.drain()
	})
}

// tenASecond refuses what is over ten calls in one second.
type tenASecond struct {
	mu             sync.Mutex
	second         int64
	n              int
	calls, refused int
}

func (l *tenASecond) admit(string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.n = now, 0
	}
	l.n++
	l.calls++
	if l.n > 10 {
		l.refused++
		return &types.LimitExceededException{}
	}
	return nil
}

// A call that never answers costs its own deadline, and nothing else.
func TestS4_EveryCallHasADeadlineOfItsOwn(t *testing.T) {
	for _, op := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{Seed: 4}, 3)
				w.begin(checkpoint.StartTrimHorizon)
				w.put(30)
				w.service.FailNext(op, streamtest.Hang, 2)
				r := w.start(nil)
				w.awaitAll(time.Minute, 1)
				r.drain()
			})
		})
	}
}

// Each transient fault, on each call: no record is lost, and none is repeated.
func TestS4_TransientFaultsCostTimeOnly(t *testing.T) {
	for _, op := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		for fault := streamtest.Throttle; fault <= streamtest.LostAnswer; fault++ {
			t.Run(op+" "+fault.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, streamtest.Config{Seed: 5}, 2)
					w.begin(checkpoint.StartTrimHorizon)
					w.put(20)
					w.service.FailNext(op, fault, 3)
					r := w.start(nil)
					w.awaitAll(2*time.Minute, 1)
					require.Equal(t, 20, w.delivered())
					r.drain()
				})
			})
		}
	}
}

// What fails for ever ends the reader, with an error that says what and where.
func TestS4_WhatFailsForEverIsTerminal(t *testing.T) {
	for _, c := range []struct {
		op     string
		err    error
		want   error
		within time.Duration
		says   []string
	}{
		{"GetRecords", &types.InternalServerError{}, ErrGivenUp, 40 * time.Minute, []string{"GetRecords of shard shardId-"}},
		{"GetRecords", &types.ExpiredIteratorException{}, ErrGivenUp, 40 * time.Minute, []string{"shardId-"}},
		{"GetRecords", &types.TrimmedDataAccessException{}, ErrGivenUp, 40 * time.Minute, []string{"shardId-"}},
		{"GetShardIterator", errNet, ErrGivenUp, 40 * time.Minute, []string{"GetShardIterator of shard shardId-", "connection reset"}},
		{"DescribeStream", &types.LimitExceededException{}, ErrGivenUp, 40 * time.Minute, []string{"DescribeStream of stream"}},
		{"DescribeStream", &types.ResourceNotFoundException{}, ErrStreamGone, time.Minute, []string{"arn:aws:dynamodb"}},
		{"DescribeStream", errDenied, ErrTerminal, time.Minute, []string{"not authorized"}},
		{"GetRecords", errDenied, ErrTerminal, time.Minute, []string{"shardId-", "not authorized"}},
	} {
		t.Run(c.op+" "+code(c.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, streamtest.Config{}, 2)
				w.begin(checkpoint.StartTrimHorizon)
				w.put(4)
				r := w.start(nil, func(cfg *Config) {
					cfg.Client.(*client).before = func(op string) error {
						if op == c.op {
							return c.err
						}
						return nil
					}
				})
				w.await(c.within, "the reader ends", func() bool { return r.reader.Err() != nil })
				<-r.done
				require.ErrorIs(t, r.err, c.want)
				for _, s := range c.says {
					require.ErrorContains(t, r.err, s)
				}
				h := r.reader.Health()
				require.ErrorIs(t, h.Err, c.want)
				_, stalled := h.Stalled(time.Now(), time.Now(), time.Hour)
				require.True(t, stalled, "readiness turns red")
				r.crash()
			})
		})
	}
}

var errDenied = &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform this"}

type netError string

func (e netError) Error() string { return string(e) }

const errNet = netError("read tcp: connection reset by peer")

// Under back-pressure an iterator is replaced before it is too old to be used.
func TestIteratorsAreRenewedUnderBackPressure(t *testing.T) {
	t.Run("by the limit", func(t *testing.T) { renewsUnderBackPressure(t, 10) })
	t.Run("by a slow caller", func(t *testing.T) { renewsUnderBackPressure(t, 1000) })
}

func renewsUnderBackPressure(t *testing.T, limit int64) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(50)
		r := w.start(func(b Batch, ack func(context.Context, error) error) {
			time.Sleep(20 * time.Minute)
			w.deliver(b)
			_ = ack(t.Context(), nil)
		}, func(c *Config) { c.PageLimit, c.MaxRecords = 10, limit })
		w.awaitAll(3*time.Hour, 1)
		require.Zero(t, w.service.Calls()["GetRecords"].Failed, "no iterator was used after its 15 minutes")
		require.Equal(t, 50, w.delivered())
		r.drain()
	})
}

// The first listing finds everything: neither its first page nor an empty one is its end.
func TestS3_OneListingReadsEveryPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 7}, 450)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(900)
		r := w.start(nil, func(c *Config) {
			c.Discovery = time.Hour
			c.Client.(*client).emptyPages = true
		})
		w.awaitAll(time.Minute, 1)
		h := r.reader.Health()
		require.Equal(t, 1, h.Listings)
		require.Equal(t, 5+4, h.Pages)
		require.Len(t, h.Shards, 450)
		r.drain()
	})
}
