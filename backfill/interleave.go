package backfill

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrIdle may be returned by ReadStream while a watermark is not passed: nothing
// is there now, ask again whether it is passed.
var ErrIdle = errors.New("backfill: idle: the stream has nothing new")

// Interleaver is what a source implements for the handoff Interleaved: it can say
// where its stream ends, and knows the rows of a batch by their keys.
//
// For each batch of the backfill the Runner reads the batch, takes a watermark,
// and reads the stream up to it. Rows whose keys came by in the stream meanwhile
// are dropped from the batch: the stream has them as new or newer. That is true
// only if ReadBackfill reads its rows after it was called; a source that reads
// ahead must not implement Interleaver.
type Interleaver[B any] interface {
	// Watermark is the end of the stream now: whatever was written before the
	// call stands in the stream at or before it.
	Watermark(ctx context.Context) (string, error)
	// Passed reports whether ReadStream has returned everything up to mark.
	// While it is false, ReadStream must return soon: a batch, or ErrIdle.
	Passed(mark string) bool
	// Keys are the keys of a batch's rows, of either half.
	Keys(b B) []string
	// Without is b less the rows with a key in drop; false if nothing is left.
	Without(b B, drop map[string]bool) (B, bool)
}

// chunk is a backfill batch on its way to its watermark.
type chunk[B any] struct {
	b       B
	ack     AckFunc
	high    string
	marked  bool
	keys    map[string]bool
	changed map[string]bool // keys that the stream has had since it was read
	// hits counts the unsettled stream batches with rows of the chunk. It waits
	// for them: only then may its dropped rows count as delivered.
	hits int // under interleave.mu
}

// interleave is the state of the handoff Interleaved. All but busy belongs to the
// Read that holds the lock.
type interleave[B any] struct {
	src    Interleaver[B]
	chunk  *chunk[B]
	parked *result[B] // a stream batch that has to wait for a chunk
	ended  bool       // the stream is

	mu sync.Mutex
	// busy counts the unsettled rows of chunks that were handed out. The stream
	// must not overtake them: a newer version would be overwritten by theirs.
	busy map[string]int
}

func (in *interleave[B]) collides(b B) bool {
	keys := in.src.Keys(b)
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, k := range keys {
		if in.busy[k] > 0 {
			return true
		}
	}
	return false
}

// count adds n to the rows of b.
func (in *interleave[B]) count(keys []string, n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, k := range keys {
		if in.busy[k] += n; in.busy[k] == 0 {
			delete(in.busy, k)
		}
	}
}

// hit reports whether c waits for a stream batch.
func (in *interleave[B]) hit(c *chunk[B]) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return c.hits > 0
}

// note takes a stream batch into the window of c, and returns its ack.
func (in *interleave[B]) note(c *chunk[B], b B, ack AckFunc) AckFunc {
	hit := false
	for _, k := range in.src.Keys(b) {
		c.changed[k] = true
		hit = hit || c.keys[k]
	}
	if !hit {
		return ack
	}
	in.mu.Lock()
	c.hits++
	in.mu.Unlock()
	return func(ctx context.Context, err error) error {
		if ack != nil {
			if aerr := ack(ctx, err); aerr != nil {
				return aerr
			}
		}
		if err == nil {
			in.mu.Lock()
			c.hits-- // the gate lets a nil through only once
			in.mu.Unlock()
		}
		return nil
	}
}

// readInterleaved hands out whichever comes next: stream batches up to the
// watermark of the chunk at hand, then the chunk.
func (r *Runner[B]) readInterleaved(ctx context.Context) (res result[B], err error) {
	in := r.inter
	rctx, cancel := r.until(ctx)
	defer cancel()
	for {
		if err := r.ended(ctx); err != nil {
			return res, err
		}
		stall, stalled := r.watchStalls()
		if stalled {
			// What never settles may be another attempt's by now.
			if err := r.checkCurrent(ctx); err != nil {
				return res, err
			}
		}
		switch {
		case in.parked != nil && in.collides(in.parked.b):
			if err := r.awaitSettled(ctx, stall); err != nil {
				return res, err
			}
		case in.parked != nil:
			p := in.parked
			in.parked = nil
			return r.hand(r.st, p.b, p.ack), nil
		case in.chunk == nil:
			b, ack, err := r.src.ReadBackfill(rctx)
			if err != nil {
				return r.tookBackfill(result[B]{err: err})
			}
			in.chunk = &chunk[B]{b: b, ack: ack, changed: map[string]bool{}, keys: map[string]bool{}}
			for _, k := range in.src.Keys(b) {
				in.chunk.keys[k] = true
			}
		case !in.chunk.marked:
			if in.chunk.high, err = in.src.Watermark(rctx); err != nil {
				return res, err
			}
			in.chunk.marked = true
		case (in.ended || in.src.Passed(in.chunk.high)) && in.hit(in.chunk):
			if err := r.awaitSettled(ctx, stall); err != nil {
				return res, err
			}
		case in.ended || in.src.Passed(in.chunk.high):
			if res, err = r.emitChunk(rctx); res.ack != nil || err != nil {
				return res, err
			}
		default:
			b, ack, err := r.src.ReadStream(rctx)
			switch {
			case errors.Is(err, ErrIdle):
				continue
			case errors.Is(err, ErrEnd):
				in.ended = true
				continue
			case err != nil:
				return res, err
			}
			in.parked = &result[B]{b: b, ack: in.note(in.chunk, b, ack)}
		}
	}
}

// emitChunk hands out what is left of the chunk, or settles it if nothing is: the
// rows dropped are in the stream, whose progress answers for them.
func (r *Runner[B]) emitChunk(ctx context.Context) (res result[B], err error) {
	in, c := r.inter, r.inter.chunk
	b, some := in.src.Without(c.b, c.changed)
	if !some {
		if c.ack != nil {
			if err := c.ack(ctx, nil); err != nil {
				return res, err
			}
		}
		in.chunk = nil
		return res, nil
	}
	in.chunk = nil
	keys := in.src.Keys(b)
	in.count(keys, 1)
	ack := c.ack
	return r.hand(r.bf, b, func(ctx context.Context, err error) error {
		if ack != nil {
			if aerr := ack(ctx, err); aerr != nil {
				return aerr
			}
		}
		if err == nil {
			in.count(keys, -1) // the gate lets a nil through only once
		}
		return nil
	}), nil
}

// awaitSettled waits for any batch to settle, at most until a stall is due, and
// asks for a flush as the barrier does.
func (r *Runner[B]) awaitSettled(ctx context.Context, stall time.Duration) error {
	now := r.cfg.Now()
	if r.flush.due(now) <= 0 {
		r.flush.sent(now)
		return r.askFlush(ctx)
	}
	timer := time.NewTimer(min(r.flush.due(now), stall))
	defer timer.Stop()
	select {
	case <-r.bf.moved:
		r.flush.progress()
		return nil
	case <-r.st.moved:
		r.flush.progress()
		return nil
	case <-timer.C:
		return nil
	case <-r.doubts:
		return r.resolve(ctx)
	case <-r.failed:
		return r.failure
	case <-r.stopCtx.Done():
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
