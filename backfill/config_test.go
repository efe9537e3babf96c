package backfill

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
)

func TestConfigDefaults(t *testing.T) {
	var c Config
	c.setDefaults()
	require.NotNil(t, c.Log)
	require.WithinDuration(t, time.Now(), c.Now(), time.Hour)
	c.Log, c.Now = nil, nil
	require.Equal(t, Config{
		FlushEvery: time.Second, StallAfter: 30 * time.Second, HookTimeout: time.Minute,
		Retry: Backoff{100 * time.Millisecond, 30 * time.Second}, StreamPrefix: "stream/",
		WarnAt: []float64{0.5, 0.8}, OverlapAt: 0.8, MaxHeld: 1024,
	}, c)

	log, fixed := slog.New(slog.NewTextHandler(io.Discard, nil)), time.Unix(7, 0)
	set := Config{
		FlushEvery: 1, StallAfter: 2, HookTimeout: 3, Retry: Backoff{4, 5}, StreamPrefix: "s/",
		WarnAt: []float64{}, OverlapAt: 1, MaxHeld: 6, Log: log, Now: func() time.Time { return fixed },
	}
	c = set
	c.setDefaults()
	require.Equal(t, fixed, c.Now())
	c.Now, set.Now = nil, nil
	require.Equal(t, set, c)

	b := Backoff{Min: time.Hour}
	b.setDefaults()
	require.Equal(t, Backoff{time.Hour, time.Hour}, b)
}

func TestConfigIsChecked(t *testing.T) {
	c := checkpoint.NewCommitter(checkpoint.NewMemory(), "p")
	streamOnly := func(c *Config) { c.Committer, c.Mode = nil, StreamOnlyMode }
	for name, set := range map[string]func(*Config){
		"as it is":              func(*Config) {},
		"stream only":           streamOnly,
		"backfill only":         func(c *Config) { c.Mode = BackfillOnlyMode },
		"Overlap":               func(c *Config) { c.Handoff = Overlap },
		"DiscardNacked":         func(c *Config) { c.Nack = DiscardNacked },
		"AnchorOverlap":         func(c *Config) { c.Anchor = AnchorOverlap },
		"shares of one":         func(c *Config) { c.OverlapAt, c.WarnAt = 1, []float64{1} },
		"no warnings":           func(c *Config) { c.WarnAt = []float64{} },
		"one held":              func(c *Config) { c.MaxHeld = 1 },
		"a pause without jumps": func(c *Config) { c.Retry = Backoff{time.Second, time.Second} },
	} {
		cfg := Config{Committer: c}
		set(&cfg)
		_, err := New(&source{}, cfg)
		require.NoError(t, err, name)
	}
	for name, set := range map[string]func(*Config){
		"no Committer":              func(c *Config) { c.Committer = nil },
		"no Committer, no stream":   func(c *Config) { c.Committer, c.Mode = nil, BackfillOnlyMode },
		"Mode":                      func(c *Config) { c.Mode = StreamOnlyMode + 1 },
		"Handoff":                   func(c *Config) { c.Handoff = Interleaved + 1 },
		"Nack":                      func(c *Config) { c.Nack = DiscardNacked + 1 },
		"Anchor":                    func(c *Config) { c.Anchor = AnchorOverlap + 1 },
		"Overlap of one half":       func(c *Config) { c.Handoff, c.Mode = Overlap, BackfillOnlyMode },
		"FlushEvery":                func(c *Config) { c.FlushEvery = -1 },
		"StallAfter":                func(c *Config) { c.StallAfter = -1 },
		"HookTimeout":               func(c *Config) { c.HookTimeout = -1 },
		"Retention":                 func(c *Config) { c.Retention = -1 },
		"MaxHeld":                   func(c *Config) { c.MaxHeld = -1 },
		"OverlapAt below":           func(c *Config) { c.OverlapAt = -0.1 },
		"OverlapAt above":           func(c *Config) { c.OverlapAt = 1.1 },
		"WarnAt nothing":            func(c *Config) { c.WarnAt = []float64{0.5, 0} },
		"WarnAt above":              func(c *Config) { c.WarnAt = []float64{1.1} },
		"a Retry that falls":        func(c *Config) { c.Retry = Backoff{time.Second, time.Millisecond} },
		"a Retry that is negative":  func(c *Config) { c.Retry = Backoff{-1, time.Second} },
		"no Interleaver, no stream": func(c *Config) { streamOnly(c); c.Handoff = Interleaved },
	} {
		cfg := Config{Committer: c}
		set(&cfg)
		_, err := New(&source{}, cfg)
		require.ErrorContains(t, err, "backfill: ", name)
	}

	_, err := New[int](nil, Config{Mode: StreamOnlyMode})
	require.ErrorContains(t, err, "needs a Reader")
	read := func(context.Context) (int, AckFunc, error) { return 0, nil, ErrEnd }
	for name, cfg := range map[string]RedeliverConfig[int]{
		"PerPartition": {PerPartition: -1}, "MaxAttempts": {MaxAttempts: -1}, "MaxHeld": {MaxHeld: -1}, "FlushEvery": {FlushEvery: -1},
		"Backoff": {Backoff: Backoff{2, 1}},
	} {
		_, err := Redeliver(read, cfg)
		require.ErrorContains(t, err, "backfill: ", name)
	}
	_, err = Redeliver[int](nil, RedeliverConfig[int]{})
	require.ErrorContains(t, err, "ReadFunc")
	require.NoError(t, c.Close(bg))
}

// A source with one half says so of the other.
func TestHalves(t *testing.T) {
	_, _, err := StreamOnly(func(context.Context) (int, AckFunc, error) { return 0, nil, nil }).ReadBackfill(bg)
	require.Equal(t, ErrBackfillComplete, err)
	_, _, err = BackfillOnly(&endless{}).ReadStream(bg)
	require.Equal(t, ErrEnd, err)
}

func TestDiscardsSayWhy(t *testing.T) {
	require.EqualError(t, Discard(nil), "backfill: discarded")
	require.EqualError(t, Discard(errors.New("x")), "backfill: discarded: x")
	require.True(t, Discarded(Discard(nil)))
	require.False(t, Discarded(nil))
}
