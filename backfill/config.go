package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

// Handoff is how the stream follows the backfill.
type Handoff uint8

const (
	// Strict starts the stream after the backfill is settled, the hook has
	// returned and the marker is durable. The default.
	Strict Handoff = iota
	// Overlap starts the stream as soon as everything was read, and holds its
	// acks back until the marker is durable. Nothing is lost, but a backfill
	// batch delivered late may overwrite what the stream delivered before it:
	// for sinks that compare versions.
	Overlap
	// Interleaved reads the stream first and the backfill beside it, batch by
	// batch between two watermarks, and drops the rows that the stream has
	// changed meanwhile: no limit by the stream's retention, and no older
	// version over a newer one. The source must be an Interleaver. The hook
	// still waits for every batch of the backfill; the stream does not wait for
	// the hook.
	Interleaved
)

// NackPolicy is what a batch that was not delivered means, in both phases.
type NackPolicy uint8

const (
	// Pin leaves the batch outstanding: nothing completes until it is acked or
	// discarded after all. The default.
	Pin NackPolicy = iota
	// Fail ends the attempt: Read returns a *NackedError.
	Fail
	// DiscardNacked settles the batch as discarded; the Summary counts it.
	DiscardNacked
)

// AnchorPolicy is what happens to a backfill that threatens to outlive the
// stream's retention (B9).
type AnchorPolicy uint8

const (
	// AnchorFail returns ErrAnchorLost once the retention is over. The default.
	AnchorFail AnchorPolicy = iota
	// AnchorOverlap starts the stream beside the scan when OverlapAt of the
	// retention is over, under the conditions of the Overlap handoff. It saves a
	// process that lives on; an attempt that starts later gets ErrAnchorLost.
	AnchorOverlap
)

// Config sets up a Runner. The zero value suits a Strict handoff, but for the
// Committer.
type Config struct {
	// Committer holds the pipeline's rows. Required but in StreamOnlyMode. The
	// caller closes it, after Runner.Close.
	Committer *checkpoint.Committer
	// Mode says which halves there are. Default BackfillThenStream.
	Mode Mode
	// Handoff is how the stream follows. Default Strict.
	Handoff Handoff
	// Nack is what a failed delivery means. Default Pin.
	Nack NackPolicy
	// Source names what is read (a table's ARN). If set, and a persisted plan
	// names another source, Read returns ErrPlan. Default "": not compared.
	Source string
	// Restart asks for a new backfill: any word that the current plan does not
	// carry begins a new generation once, and clears the older generations' rows
	// and those under StreamPrefix, which Hooks.Cleared names. It is a word and
	// not a flag so that a crash in the middle does not restart for ever.
	// Default "": resume.
	Restart string
	// StreamPrefix is where the stream's checkpoints are. Default "stream/".
	StreamPrefix string
	// Owner is written into claimed rows, for people. Default "".
	Owner string

	// Flush flushes what batches up downstream. If set, or if the source is a
	// Flusher, it is called instead of returning ErrFlush (B6).
	Flush func(ctx context.Context) error
	// FlushEvery is the pause after the first flush signal, doubled after each
	// without progress up to 30 times itself. Default 1 s.
	FlushEvery time.Duration
	// StallAfter is the age of the oldest batch at which Hooks.Stalled is first
	// called; later calls follow at doubled ages. Default 30 s.
	StallAfter time.Duration
	// HookTimeout bounds one call of BackfillComplete. Default 1 min.
	HookTimeout time.Duration
	// Retry paces the hook, the marker and the barrier's store calls. Default
	// 100 ms to 30 s.
	Retry Backoff

	// Retention is how long the stream keeps records (24 h on DynamoDB
	// Streams). Default 0: no guard.
	Retention time.Duration
	// WarnAt are the shares of Retention at which Hooks.AnchorAging is called,
	// rising. Default 0.5, 0.8.
	WarnAt []float64
	// Anchor is what happens when the retention ends. Default AnchorFail.
	Anchor AnchorPolicy
	// OverlapAt is the share of Retention at which AnchorOverlap starts the
	// stream. Default 0.8.
	OverlapAt float64
	// MaxHeld bounds the stream batches whose acks are held back before the
	// handoff. Default 1024.
	MaxHeld int

	Hooks Hooks
	// Log gets warnings that say what to do, and debug lines. Default: none.
	Log *slog.Logger
	// Now is the clock of ages and latencies. Default time.Now.
	Now func() time.Time
}

// Hooks are optional; each is called outside every lock, by whoever caused it.
type Hooks struct {
	PhaseChanged func(from, to Phase)
	// Settled is called for every settled batch with its time from read to ack.
	Settled func(s Settlement)
	Nacked  func(phase Phase, batch string, err error)
	// Stalled is called while the oldest batch does not settle, with growing
	// pauses.
	Stalled func(s Stall)
	// HookFailed is called when BackfillComplete or the marker's save failed;
	// it will be retried.
	HookFailed func(err error, attempt int)
	// AnchorAging is called at each share of WarnAt.
	AnchorAging func(age, retention time.Duration)
	// Cleared names the rows that Restart removed.
	Cleared func(keys []checkpoint.Key)
}

// Settlement is one settled batch.
type Settlement struct {
	Phase     Phase // of the reading half: Backfilling or Streaming
	Batch     string
	Discarded bool
	Latency   time.Duration
}

// Stall is what a pipeline is waiting for.
type Stall struct {
	Phase       Phase
	Outstanding int
	Oldest      string // the batch
	Age         time.Duration
	Nacks       int   // of the oldest
	LastErr     error // of the oldest's nacks, or of the store
}

func (c *Config) setDefaults() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.FlushEvery, time.Second)
	def(&c.StallAfter, 30*time.Second)
	def(&c.HookTimeout, time.Minute)
	c.Retry.setDefaults()
	if c.StreamPrefix == "" {
		c.StreamPrefix = "stream/"
	}
	if c.WarnAt == nil {
		c.WarnAt = []float64{0.5, 0.8}
	}
	if c.OverlapAt == 0 {
		c.OverlapAt = 0.8
	}
	if c.MaxHeld == 0 {
		c.MaxHeld = 1024
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

func (c *Config) validate() error {
	switch {
	case c.Committer == nil && c.Mode != StreamOnlyMode:
		return errors.New("backfill: Config.Committer is required but in StreamOnlyMode")
	case c.Mode > StreamOnlyMode || c.Handoff > Interleaved || c.Nack > DiscardNacked || c.Anchor > AnchorOverlap:
		return errors.New("backfill: Config.Mode, Handoff, Nack or Anchor has an unknown value")
	case c.Handoff != Strict && c.Mode != BackfillThenStream:
		return errors.New("backfill: Config.Handoff needs both halves: leave it Strict in this Mode")
	case c.FlushEvery < 0 || c.StallAfter < 0 || c.HookTimeout < 0 || c.Retention < 0:
		return errors.New("backfill: a duration of Config is negative")
	case c.MaxHeld < 0:
		return fmt.Errorf("backfill: Config.MaxHeld is %d: 0 is the default, otherwise at least 1", c.MaxHeld)
	case c.OverlapAt < 0 || c.OverlapAt > 1:
		return fmt.Errorf("backfill: Config.OverlapAt is %g: it is a share, 0 to 1", c.OverlapAt)
	}
	for _, w := range c.WarnAt {
		if w <= 0 || w > 1 {
			return fmt.Errorf("backfill: Config.WarnAt has %g: it is a share, 0 to 1", w)
		}
	}
	return c.Retry.validate()
}
