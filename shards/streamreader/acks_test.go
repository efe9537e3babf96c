package streamreader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards/streamtest"
)

var errSink = errors.New("the sink refused it")

type held struct {
	batch Batch
	ack   func(context.Context, error) error
}

// hold keeps every batch back, in order.
func (w *world) hold(into *[]held) func(Batch, func(context.Context, error) error) {
	return func(b Batch, ack func(context.Context, error) error) {
		w.deliver(b)
		w.mu.Lock()
		defer w.mu.Unlock()
		*into = append(*into, held{b, ack})
	}
}

func TestAcksRepeatedNackedAndLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := newWorld(t, streamtest.Config{}, 1)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(40)
		var got []held
		r := w.start(w.hold(&got), func(c *Config) { c.PageLimit = 10 })
		w.awaitAll(time.Minute, 1)
		require.Len(t, got, 4)
		position := func() string {
			require.NoError(t, r.cfg.Committer.Flush(ctx))
			for _, row := range w.rows() {
				return row.Position
			}
			return ""
		}

		require.NoError(t, got[0].ack(ctx, nil))
		require.NoError(t, got[0].ack(ctx, nil), "again: nothing")
		require.NoError(t, got[0].ack(ctx, errSink), "a nack after the ack: nothing")
		require.Equal(t, got[0].batch.Last.String(), position())

		require.NoError(t, got[2].ack(ctx, nil))
		require.NoError(t, got[1].ack(ctx, errSink))
		require.Equal(t, got[0].batch.Last.String(), position(), "what was not delivered pins")
		require.Equal(t, int64(20), r.reader.Health().InFlight)
		require.Equal(t, int64(1), r.reader.Health().Shards[0].Nacked)

		require.NoError(t, got[1].ack(ctx, nil), "delivered after all")
		require.Equal(t, got[2].batch.Last.String(), position(), "the whole settled run at once")

		require.NoError(t, r.reader.Close(ctx))
		require.ErrorIs(t, got[3].ack(ctx, nil), ErrStale)
		require.NoError(t, got[3].ack(ctx, nil), "told once")
		require.Equal(t, got[2].batch.Last.String(), position())
		<-r.done
		require.ErrorIs(t, r.err, ErrStopped)
		require.NoError(t, r.reader.Close(ctx), "again")
		require.NoError(t, r.cfg.Committer.Close(ctx))
	})
}

func TestDrainWaitsForWhatWasHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := newWorld(t, streamtest.Config{}, 2)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(20)
		var got []held
		r := w.start(w.hold(&got))
		w.awaitAll(time.Minute, 1)

		// A context that ends first: what is not acked is not recorded.
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		drained := make(chan error, 1)
		go func() { drained <- r.reader.Drain(ctx) }()
		synctest.Wait()
		require.Empty(t, drained, "nothing is acked yet")
		for _, h := range got {
			require.NoError(t, h.ack(ctx, nil))
		}
		require.NoError(t, <-drained)
		require.NoError(t, r.reader.Drain(short), "again")
		for _, row := range w.rows() {
			require.NotEmpty(t, row.Position)
		}
		require.NoError(t, r.cfg.Committer.Close(ctx))
		<-r.done

		w.put(20)
		got = nil
		r = w.start(w.hold(&got))
		w.awaitAll(time.Minute, 1)
		short2, cancel2 := context.WithTimeout(ctx, time.Second)
		defer cancel2()
		require.ErrorIs(t, r.reader.Drain(short2), context.DeadlineExceeded)
		require.ErrorIs(t, got[0].ack(ctx, nil), ErrStale)
		require.NoError(t, r.cfg.Committer.Close(ctx))
		<-r.done
	})
}

// What is read and not settled is bounded over all shards; a stuck shard is held to its
// share, and does not stop the others.
func TestInFlightIsBoundedAndShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{}, 4)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(400)
		stuck := w.service.Shards(table)[0].ID
		var got []held
		hold := w.hold(&got)
		r := w.start(func(b Batch, ack func(context.Context, error) error) {
			if b.ShardID == stuck {
				hold(b, ack)
				return
			}
			w.deliver(b)
			_ = ack(t.Context(), nil)
		}, func(c *Config) { c.PageLimit, c.MaxRecords, c.Parallel = 5, 40, 2 })
		time.Sleep(time.Minute)
		synctest.Wait()
		others := 0
		for _, sh := range w.service.Shards(table)[1:] {
			others += sh.Records
		}
		held := 0
		for _, h := range got {
			held += len(h.batch.Records)
		}
		require.Equal(t, others+held, w.delivered(), "the others are read to their ends")
		require.Equal(t, 10, held, "a quarter of the limit, no more")
		require.Equal(t, int64(10), r.reader.Health().InFlight)
		for w.delivered() < 400 {
			w.mu.Lock()
			batches := got
			got = nil
			w.mu.Unlock()
			for _, h := range batches {
				require.NoError(t, h.ack(t.Context(), nil))
			}
			time.Sleep(time.Second)
		}
		require.Empty(t, w.lost(1))
		for _, h := range got {
			require.NoError(t, h.ack(t.Context(), nil))
		}
		r.drain()
	})
}

func TestInFlightLimitHoldsOverManyShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{}, 50)
		w.begin(checkpoint.StartTrimHorizon)
		for range 10 {
			w.put(500)
		}
		const limit, parallel, page = 200, 4, 10
		most := int64(0)
		var r *run
		ready := make(chan struct{})
		r = w.start(func(b Batch, ack func(context.Context, error) error) {
			<-ready
			time.Sleep(10 * time.Millisecond)
			most = max(most, r.reader.Health().InFlight)
			w.deliver(b)
			_ = ack(t.Context(), nil)
		}, func(c *Config) { c.PageLimit, c.MaxRecords, c.Parallel = page, limit, parallel })
		close(ready)
		w.awaitAll(10*time.Minute, 1)
		r.drain()
		require.GreaterOrEqual(t, most, int64(limit-page), "the limit was reached")
		require.LessOrEqual(t, most, int64(limit+parallel*page))
		require.Zero(t, r.reader.flight.load())
		require.Equal(t, parallel, r.reader.flight.calls)
	})
}

// A second owner of the pipeline ends the first, whose late acks change nothing.
func TestTheSecondOwnerFencesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{}, 2)
		w.begin(checkpoint.StartTrimHorizon)
		w.put(20)
		var got []held
		first := w.start(w.hold(&got))
		w.awaitAll(time.Minute, 1)
		second := w.start(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		rows := w.rows()
		for _, h := range got {
			_ = h.ack(t.Context(), nil)
		}
		time.Sleep(10 * time.Second)
		<-first.done
		require.ErrorIs(t, first.err, checkpoint.ErrFenced)
		require.Equal(t, rows, w.rows(), "the first changed nothing")
		w.put(20)
		w.awaitAll(time.Minute, 1)
		first.crash()
		second.drain()
	})
}

// Written once everything is positioned: owed, although the pipeline started at
// LATEST.
func TestS2_WhatIsWrittenAfterPositionedIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 11}, 10)
		w.put(20)
		w.rotate()
		w.put(20)
		time.Sleep(5 * time.Second)
		w.begin(checkpoint.StartLatest)
		w.service.SetFaults(map[string]streamtest.FaultRates{"*": {Internal: .3}})
		r := w.start(nil)
		<-r.reader.Positioned()
		w.put(20)
		w.rotate()
		w.put(20)
		w.awaitAll(10*time.Minute, 3)
		require.Equal(t, 40, w.delivered(), "and nothing of before")
		require.Contains(t, w.asked(), "LATEST")
		r.drain()
	})
}

// Without the Freshness the origin is exact: what is written from then on is owed.
func TestS2_WithoutFreshnessTheOriginIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 12}, 4)
		w.put(20)
		time.Sleep(5 * time.Second)
		w.begin(checkpoint.StartLatest)
		w.put(20)
		time.Sleep(time.Minute)
		w.rotate()
		r := w.start(nil, func(c *Config) { c.Fresh = nil })
		w.awaitAll(time.Minute, 2)
		require.Equal(t, 20, w.delivered())
		require.NotContains(t, w.asked(), "LATEST")
		r.drain()
	})
}

// By time the origin is exact with a Freshness too, and nothing older is read.
func TestS2_ByTimeTheOriginIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 14}, 4)
		w.put(2000)
		time.Sleep(5 * time.Second)
		w.begin(checkpoint.StartLatest)
		w.put(20)
		time.Sleep(time.Minute)
		w.rotate() // the owed records are in closed shards now
		w.put(20)
		w.service.SetFaults(map[string]streamtest.FaultRates{"GetShardIterator": {LostAnswer: .3}})
		r := w.start(nil, func(c *Config) { c.ByTime, c.PageLimit = true, 10 })
		w.await(time.Minute, "owed records", func() bool { return w.delivered() == 40 })
		r.crash()
		w.put(20)
		r = w.start(nil, func(c *Config) { c.ByTime = true })
		w.await(time.Minute, "owed records", func() bool { return w.got("k19#4") })
		time.Sleep(time.Minute)
		r.drain()
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		for key := range w.times {
			require.False(t, strings.HasSuffix(key, "#1"), "%s is older than the origin", key)
		}
		require.NotContains(t, w.calls, "LATEST")
		require.NotContains(t, w.calls, "TRIM_HORIZON")
	})
}

// Rows of shards that left the stream go, once their children have their own.
func TestS5_RowsOfOldShardsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, streamtest.Config{Seed: 13, RotateEvery: streamtest.RotationInterval}, 2)
		w.begin(checkpoint.StartTrimHorizon)
		slow := func(c *Config) { c.IdlePoll, c.Discovery = 10*time.Minute, time.Hour }
		r := w.start(nil, slow)
		most := 0
		for range 6 * 8 {
			w.put(4)
			time.Sleep(4 * time.Hour)
			most = max(most, len(w.rows()))
		}
		w.awaitAll(time.Hour, 1)
		// 2 shards, 6 rotations a day, and a listing an hour.
		require.LessOrEqual(t, most, 2*(6+3))
		require.Greater(t, most, 2*6, "not before they left the stream")
		require.Empty(t, w.gaps)
		r.crash()

		// Deleting them lost nothing that a restart needs.
		w.begin(checkpoint.StartTrimHorizon)
		before := w.delivered()
		r = w.start(nil, slow)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, before, w.delivered())
		require.Empty(t, w.gaps)
		r.drain()
	})
}
