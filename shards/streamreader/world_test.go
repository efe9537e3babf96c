package streamreader

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/shards"
	"github.com/ackgate/ackgate/shards/streamtest"
)

const (
	table    = "orders"
	pipeline = "p"
)

// world is a table with a stream, a checkpoint store, and what is known to have
// been written and delivered. It lives in a synctest bubble.
type world struct {
	t       *testing.T
	service *streamtest.Service
	store   checkpoint.Store
	origin  checkpoint.Origin
	fresh   *checkpoint.Freshness
	version map[string]int // last version written, by key

	mu    sync.Mutex
	times map[string]int // deliveries, by key#version
	last  map[string]int // last version delivered, by key
	stale int            // deliveries of a version older than the one before it
	gaps  []shards.Gap
	calls []string // iterator types asked for, in order
}

func newWorld(t *testing.T, cfg streamtest.Config, open int) *world {
	w := &world{
		t: t, service: streamtest.New(cfg), store: checkpoint.NewMemory(),
		version: map[string]int{}, times: map[string]int{}, last: map[string]int{},
	}
	require.NoError(t, w.service.CreateTable(streamtest.Table{
		Name: table, Hash: "id", View: types.StreamViewTypeNewAndOldImages, Shards: open,
	}))
	return w
}

// begin makes the pipeline's origin, as a program does when it starts.
func (w *world) begin(start checkpoint.Start) {
	o, f, err := checkpoint.Begin(w.t.Context(), w.store, pipeline, checkpoint.Origin{
		Start: start, Time: time.Now().Truncate(time.Second), Source: w.service.StreamARN(table),
	})
	require.NoError(w.t, err)
	w.origin, w.fresh = o, f
}

// put writes the next version of n keys.
func (w *world) put(n int) {
	for i := range n {
		key := "k" + strconv.Itoa(i)
		w.version[key]++
		_, err := w.service.Put(table, streamtest.Item{
			"id": &types.AttributeValueMemberS{Value: key},
			"v":  &types.AttributeValueMemberN{Value: strconv.Itoa(w.version[key])},
		})
		require.NoError(w.t, err)
	}
}

func (w *world) config(change ...func(*Config)) Config {
	cfg := Config{
		Client:    w.client(),
		StreamARN: w.service.StreamARN(table),
		Committer: checkpoint.NewCommitter(w.store, pipeline, checkpoint.Interval(time.Second), checkpoint.Logger(slog.New(slog.DiscardHandler))),
		Origin:    w.origin,
		Fresh:     w.fresh,
		OnGap: func(g shards.Gap) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.gaps = append(w.gaps, g)
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

// run is one attempt: a reader, its committer, and a consumer.
type run struct {
	w      *world
	cfg    Config
	reader *Reader
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Read, once done
	over   bool
}

// start runs a reader whose batches are acked at once, unless sink says otherwise.
func (w *world) start(sink func(Batch, func(context.Context, error) error), change ...func(*Config)) *run {
	cfg := w.config(change...)
	reader, err := New(cfg)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{w: w, cfg: cfg, reader: reader, cancel: cancel, done: make(chan struct{})}
	w.t.Cleanup(func() { // a failed test must not leave its bubble hanging
		if !r.over {
			r.crash()
		}
	})
	go func() {
		defer close(r.done)
		for {
			b, ack, err := reader.Read(ctx)
			if err != nil {
				r.err = err
				return
			}
			if sink != nil {
				sink(b, ack)
				continue
			}
			w.deliver(b)
			_ = ack(ctx, nil)
		}
	}()
	return r
}

// deliver notes what a batch brought.
func (w *world) deliver(b Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rec := range b.Records {
		key, v := identity(rec)
		w.times[key+"#"+strconv.Itoa(v)]++
		if v < w.last[key] {
			w.stale++
		}
		w.last[key] = v
	}
}

func identity(rec streamtypes.Record) (string, int) {
	key := rec.Dynamodb.Keys["id"].(*streamtypes.AttributeValueMemberS).Value
	v, _ := strconv.Atoi(rec.Dynamodb.NewImage["v"].(*streamtypes.AttributeValueMemberN).Value)
	return key, v
}

// drain ends an attempt in good order, crash without saving anything more.
func (r *run) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.over = true
	require.NoError(r.w.t, r.reader.Drain(ctx))
	require.NoError(r.w.t, r.cfg.Committer.Close(ctx))
	r.cancel()
	<-r.done
}

func (r *run) crash() {
	r.over = true
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	r.cancel()
	<-r.done
	_ = r.reader.Close(dead)
	_ = r.cfg.Committer.Close(dead)
}

// lost lists the versions that were written from version first on and never
// delivered.
func (w *world) lost(first int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lost []string
	for key, last := range w.version {
		for v := first; v <= last; v++ {
			if id := key + "#" + strconv.Itoa(v); w.times[id] == 0 {
				lost = append(lost, id)
			}
		}
	}
	return lost
}

func (w *world) got(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[id] > 0
}

// asked lists the iterator types asked for so far.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

func (w *world) delivered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, times := range w.times {
		n += times
	}
	return n
}

// await lets virtual time pass until ok.
func (w *world) await(limit time.Duration, what string, ok func() bool) {
	w.t.Helper()
	for start := time.Now(); ; time.Sleep(max(100*time.Millisecond, limit/1000)) {
		synctest.Wait()
		if ok() {
			return
		}
		if time.Since(start) > limit {
			require.Fail(w.t, "not within "+limit.String(), what)
		}
	}
}

func (w *world) awaitAll(limit time.Duration, first int) {
	w.t.Helper()
	w.await(limit, "everything is delivered", func() bool { return len(w.lost(first)) == 0 })
}

func (w *world) rotate() { require.NoError(w.t, w.service.Rotate(table)) }

func (w *world) rows() map[string]checkpoint.Checkpoint {
	rows := map[string]checkpoint.Checkpoint{}
	store := w.store
	if f, ok := store.(*flaky); ok {
		store = f.Store
	}
	for row, err := range store.List(w.t.Context(), pipeline, "stream/") {
		require.NoError(w.t, err)
		rows[row.Partition] = row
	}
	return rows
}
