package backfill

import "context"

// result is one answer of a read. What a Runner hands out has an ack, whatever the
// source returned: a result without one is none.
type result[B any] struct {
	b   B
	ack AckFunc
	err error
}

// pump reads one half in a goroutine of its own, one batch ahead, for when both
// halves are read at once. It ends with its context or with a final error.
type pump[B any] struct {
	out  chan result[B]
	done chan struct{}
}

// startPump reads until ctx ends, or read returned an error that final accepts.
func startPump[B any](ctx context.Context, read ReadFunc[B], final func(error) bool) *pump[B] {
	p := &pump[B]{out: make(chan result[B]), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			var res result[B]
			res.b, res.ack, res.err = read(ctx)
			// A batch that nobody takes any more is left unsettled: it pins, and
			// comes again in the next attempt.
			select {
			case p.out <- res:
			case <-ctx.Done():
				return
			}
			if res.err != nil && final(res.err) {
				return
			}
		}
	}()
	return p
}
