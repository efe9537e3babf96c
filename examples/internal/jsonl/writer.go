package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrClosed is returned by Append after Close.
var ErrClosed = errors.New("jsonl: writer is closed")

// Output is where a Writer writes; *File is one.
type Output interface {
	io.Writer
	Sync() error
}

// Config sets up a Writer.
type Config struct {
	// Linger is how long the first batch of a group waits for more before the
	// group is written and synced. Default 0: a group is whatever arrived
	// while the one before was being synced.
	Linger time.Duration
	// MaxGroup ends a group early once it holds this many bytes. Default 1 MiB.
	MaxGroup int
}

// Writer writes batches in groups and settles each after the sync that covers it.
type Writer struct {
	cfg    Config
	out    Output
	in     chan batch
	done   chan struct{}
	closed bool
	err    error // written by the goroutine before done closes
}

// AckFunc settles a batch: nil means its lines are safe.
type AckFunc func(ctx context.Context, err error) error

type batch struct {
	text []byte
	ack  AckFunc
}

// Start returns a Writer to out. Its goroutine ends with Close.
func Start(out Output, cfg Config) *Writer {
	if cfg.MaxGroup <= 0 {
		cfg.MaxGroup = 1 << 20
	}
	w := &Writer{cfg: cfg, out: out, in: make(chan batch, 16), done: make(chan struct{})}
	go w.run()
	return w
}

// Append hands a batch over and returns; ack tells how it ended. It waits while
// the groups before are being synced. After an error the batch stays the
// caller's to settle.
func (w *Writer) Append(ctx context.Context, lines []Line, ack AckFunc) error {
	if w.closed {
		return ErrClosed
	}
	var buf bytes.Buffer
	for i := range lines {
		if err := appendLine(&buf, &lines[i]); err != nil {
			return fmt.Errorf("jsonl: encode a line: %w", err)
		}
	}
	select {
	case w.in <- batch{buf.Bytes(), ack}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.done: // the output failed
		return w.err
	}
}

// Failed is closed when the output failed; Err then says how.
func (w *Writer) Failed() <-chan struct{} { return w.done }

// Err is the output's failure, once Failed is closed.
func (w *Writer) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// Close writes and settles what was appended, ends the goroutine and returns
// the output's failure, if any. It does not close the output.
func (w *Writer) Close() error {
	if !w.closed {
		w.closed = true
		close(w.in)
	}
	<-w.done
	// What was queued when the output failed is settled as not delivered.
	for b := range w.in {
		_ = b.ack(context.Background(), w.err)
	}
	return w.err
}

func (w *Writer) run() {
	defer close(w.done)
	for b := range w.in {
		group := []batch{b}
		group = w.gather(group)
		err := w.write(group)
		for _, b := range group {
			// An ack that fails leaves its batch unsettled: it comes again. The
			// reader behind it reports the cause by its own next call.
			_ = b.ack(context.Background(), err)
		}
		if err != nil {
			w.err = err
			return
		}
	}
}

// gather collects the group that begins with group[0].
func (w *Writer) gather(group []batch) []batch {
	size := len(group[0].text)
	var linger <-chan time.Time
	if w.cfg.Linger > 0 {
		t := time.NewTimer(w.cfg.Linger)
		defer t.Stop()
		linger = t.C
	}
	for size < w.cfg.MaxGroup {
		var b batch
		var ok bool
		if linger == nil {
			select {
			case b, ok = <-w.in:
			default:
			}
		} else {
			select {
			case b, ok = <-w.in:
			case <-linger:
			}
		}
		if !ok {
			return group // nothing waits, time is up, or closed
		}
		group = append(group, b)
		size += len(b.text)
	}
	return group
}

func (w *Writer) write(group []batch) error {
	var buf bytes.Buffer
	for _, b := range group {
		buf.Write(b.text)
	}
	if _, err := w.out.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("jsonl: write: %w", err)
	}
	if err := w.out.Sync(); err != nil {
		return fmt.Errorf("jsonl: fsync: %w", err)
	}
	return nil
}
