package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackgate/ackgate/examples/internal/jsonl"
)

// disk is an output that remembers what was synced and can fail.
type disk struct {
	written, synced int // lines
	syncs           int
	slow            time.Duration
	writeErr        error
	syncErr         error
}

func (d *disk) Write(p []byte) (int, error) {
	if d.writeErr != nil {
		return 0, d.writeErr
	}
	d.written += strings.Count(string(p), "\n")
	return len(p), nil
}

func (d *disk) Sync() error {
	time.Sleep(d.slow)
	if d.syncErr != nil {
		return d.syncErr
	}
	d.synced, d.syncs = d.written, d.syncs+1
	return nil
}

func lines(n int) []jsonl.Line {
	batch := make([]jsonl.Line, n)
	for i := range batch {
		batch[i] = jsonl.Line{Phase: jsonl.PhaseStream, Event: "INSERT", Keys: jsonl.Item{"id": jsonl.Item{"S": fmt.Sprint(i)}}}
	}
	return batch
}

func TestAckFollowsTheSyncThatCoversIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: 30 * time.Millisecond}
		w := jsonl.Start(d, jsonl.Config{Linger: 10 * time.Millisecond})
		appended, acked := 0, 0
		for i := range 50 {
			n := i%4 + 1
			appended += n
			covers := appended
			err := w.Append(t.Context(), lines(n), func(_ context.Context, err error) error {
				if err != nil {
					t.Errorf("ack: %v", err)
				}
				if d.synced < covers {
					t.Errorf("acked with %d lines synced; its own end at %d", d.synced, covers)
				}
				acked += n
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if acked != appended || d.synced != appended {
			t.Errorf("appended %d, synced %d, acked %d", appended, d.synced, acked)
		}
		if d.syncs >= 50 {
			t.Errorf("%d syncs for 50 batches: nothing was grouped", d.syncs)
		}
	})
}

func TestLingerDelaysButNeverHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := jsonl.Start(&disk{}, jsonl.Config{Linger: time.Second})
		start := time.Now()
		var took time.Duration
		// One batch and then silence: nobody closes, nobody sends more.
		_ = w.Append(t.Context(), lines(1), func(context.Context, error) error {
			took = time.Since(start)
			return nil
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if took != time.Second {
			t.Errorf("acked after %s, want the linger of 1s", took)
		}
		_ = w.Close()
	})
}

func TestNothingIsDeliveredAfterAFailure(t *testing.T) {
	full := errors.New("no space left on device")
	for name, fail := range map[string]func(*disk){
		"write": func(d *disk) { d.writeErr = full },
		"fsync": func(d *disk) { d.syncErr = full },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{}
				w := jsonl.Start(d, jsonl.Config{Linger: time.Millisecond})
				var delivered, refused int
				ack := func(_ context.Context, err error) error {
					if err == nil {
						delivered++
					} else if refused++; !errors.Is(err, full) {
						t.Errorf("ack: %v", err)
					}
					return nil
				}
				_ = w.Append(t.Context(), lines(1), ack)
				time.Sleep(time.Second)
				synctest.Wait()
				fail(d)
				accepted := 0
				for range 40 { // more than the queue holds: Append must not hang
					if err := w.Append(t.Context(), lines(1), ack); err == nil {
						accepted++
					} else if !errors.Is(err, full) {
						t.Errorf("Append: %v", err)
					}
				}
				<-w.Failed()
				d.writeErr, d.syncErr = nil, nil // a later success must not cover what failed
				if err := w.Append(t.Context(), lines(1), ack); err == nil {
					accepted++
				}
				if err := w.Close(); !errors.Is(err, full) {
					t.Errorf("Close: %v", err)
				}
				if delivered != 1 || refused != accepted {
					t.Errorf("delivered %d, refused %d of %d accepted after the failure", delivered, refused, accepted)
				}
			})
		})
	}
}

func TestAppendEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := jsonl.Start(&disk{slow: time.Hour}, jsonl.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		for err == nil {
			err = w.Append(ctx, lines(1), func(context.Context, error) error { return nil })
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Append: %v", err)
		}
		_ = w.Close()
		if err := w.Append(t.Context(), lines(1), nil); !errors.Is(err, jsonl.ErrClosed) {
			t.Errorf("Append after Close: %v", err)
		}
	})
}
