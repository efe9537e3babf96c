package checkpoint

import (
	"fmt"
	"log/slog"
	"time"
)

// Defaults of a Committer, each in one place.
const (
	DefaultInterval    = 5 * time.Second
	DefaultParallel    = 16
	DefaultSaveTimeout = 10 * time.Second
	DefaultBackoffMin  = 100 * time.Millisecond
	DefaultBackoffMax  = 30 * time.Second
)

// Option sets up a Committer. An impossible value panics in NewCommitter.
type Option func(*config)

type config struct {
	interval    time.Duration
	everyWeight int64
	parallel    int
	saveTimeout time.Duration
	backoff     backoff
	limit       int64
	sync        bool
	owner       string
	hooks       Hooks
	log         *slog.Logger
}

func newConfig(opts []Option) config {
	cfg := config{
		interval:    DefaultInterval,
		parallel:    DefaultParallel,
		saveTimeout: DefaultSaveTimeout,
		backoff:     backoff{min: DefaultBackoffMin, max: DefaultBackoffMax},
	}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.log == nil {
		cfg.log = slog.Default()
	}
	return cfg
}

// hasty reports whether every advance makes a save due at once.
func (c *config) hasty() bool { return c.sync || c.interval == 0 }

// Interval is the longest time a moved frontier waits for its save, and the
// shortest time between two saves of one partition, completion aside. It
// bounds both the cost and the duplicates of a crash. Default DefaultInterval.
// Zero saves at once, one save after another.
func Interval(d time.Duration) Option {
	mustNotBeNegative("Interval", d)
	return func(c *config) { c.interval = d }
}

// EveryWeight saves a partition before its interval is over once weight w has
// settled since its last save began. Default 0: off.
func EveryWeight(w int64) Option {
	mustNotBeNegative("EveryWeight", w)
	return func(c *config) { c.everyWeight = w }
}

// Parallel is how many partitions are saved side by side. Default
// DefaultParallel; it is at least 1.
func Parallel(n int) Option {
	if n < 1 {
		panic("checkpoint: Parallel must be at least 1")
	}
	return func(c *config) { c.parallel = n }
}

// SaveTimeout ends a Save that does not answer; it is then tried again. A hung
// request must not hold its partition for ever. Default DefaultSaveTimeout;
// zero means no timeout.
func SaveTimeout(d time.Duration) Option {
	mustNotBeNegative("SaveTimeout", d)
	return func(c *config) { c.saveTimeout = d }
}

// Backoff sets the pauses between the tries of a failing save: they double from
// shortest to longest, each shortened at random by up to half so that a
// thousand partitions do not come back together. Defaults DefaultBackoffMin,
// DefaultBackoffMax.
func Backoff(shortest, longest time.Duration) Option {
	if shortest <= 0 || longest < shortest {
		panic(fmt.Sprintf("checkpoint: Backoff(%v, %v): want 0 < shortest <= longest", shortest, longest))
	}
	return func(c *config) { c.backoff = backoff{min: shortest, max: longest} }
}

// Limit bounds the outstanding weight of each partition: Track waits while it
// is over it. Default 0: no limit.
func Limit(weight int64) Option {
	mustNotBeNegative("Limit", weight)
	return func(c *config) { c.limit = weight }
}

// Sync makes Partition.Ack wait until what it moved is durable, and every
// moved frontier is then saved at once instead of after Interval.
func Sync() Option { return func(c *config) { c.sync = true } }

// Owner labels this process in the rows it claims. Default: no label; the
// random part of NewOwner is always added.
func Owner(label string) Option { return func(c *config) { c.owner = label } }

// WithHooks calls the set functions of h.
func WithHooks(h Hooks) Option { return func(c *config) { c.hooks = h } }

// Logger is where a lost partition and a failing store are reported. Default
// slog.Default(). Normal operation logs nothing above Debug.
func Logger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

func mustNotBeNegative[N ~int64](name string, n N) {
	if n < 0 {
		panic("checkpoint: " + name + " must not be negative")
	}
}

// Hooks are optional. For one partition they run one after another, in the
// order of its saves; for different partitions side by side. A slow hook
// delays the next save of its partition and nothing else. Hooks may use the
// Partition's Abandon, but must not wait for the Committer: Flush, Drain,
// Close, Release and a waiting Ack would wait for the hook.
type Hooks struct {
	// Committed runs after a save succeeded, never before: what cp says is
	// durable, and now the source may be told (a replication slot advanced, a
	// message deleted). Flush, Drain, Close and Partition.Committed wait for it.
	Committed func(cp Checkpoint)
	// CommitFailed runs after each failed try of a save, which will be tried
	// again; tries counts them from 1.
	CommitFailed func(key Key, err error, tries int)
	// Fenced runs once when a save was refused because a newer claim stands:
	// the partition is lost.
	Fenced func(key Key, err error)
}
