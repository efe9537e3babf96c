package checkpoint_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/tracker"
)

func TestOptions_RefuseWhatMakesNoSense(t *testing.T) {
	for name, option := range map[string]func(){
		"Interval":           func() { checkpoint.Interval(-1) },
		"EveryWeight":        func() { checkpoint.EveryWeight(-1) },
		"Parallel":           func() { checkpoint.Parallel(0) },
		"SaveTimeout":        func() { checkpoint.SaveTimeout(-1) },
		"Backoff(0s, 1s)":    func() { checkpoint.Backoff(0, time.Second) },
		"Backoff(1s, 999ms)": func() { checkpoint.Backoff(time.Second, 999*time.Millisecond) },
		"Limit":              func() { checkpoint.Limit(-1) },
	} {
		func() {
			defer func() { require.Contains(t, recover(), name) }()
			option()
		}()
	}
	for _, fine := range []func(){
		func() { checkpoint.Interval(0) }, func() { checkpoint.EveryWeight(0) }, func() { checkpoint.Parallel(1) },
		func() { checkpoint.SaveTimeout(0) }, func() { checkpoint.Backoff(1, 1) }, func() { checkpoint.Limit(0) },
	} {
		require.NotPanics(t, fine)
	}
}

func TestOptions_LimitAndOwner(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		require.True(b, strings.HasPrefix(b.row("a").Owner, "host-1/"), b.row("a").Owner)
		first := b.track(p, 1)[0]
		_, err := p.TryTrackAt(2, time.Time{}, 2)
		require.ErrorIs(b, err, tracker.ErrLimit)
		first.Ack()
		_, err = p.TryTrackAt(2, time.Time{}, 2)
		require.NoError(b, err)
	}, checkpoint.Owner("host-1"), checkpoint.Limit(2))
}

// A request that hangs ends after SaveTimeout and is repeated.
func TestOptions_SaveTimeout(t *testing.T) {
	for _, tc := range []struct {
		options []checkpoint.Option
		want    time.Duration
	}{
		{[]checkpoint.Option{checkpoint.SaveTimeout(time.Minute)}, time.Minute},
		{nil, checkpoint.DefaultSaveTimeout},
		{[]checkpoint.Option{checkpoint.SaveTimeout(0)}, 0}, // for ever
	} {
		bubble(t, func(b *scene) {
			b.fail(hung(""))
			p := b.open(b.c, "a")
			b.track(p, 1)[0].Ack()
			synctest.Wait()
			b.works()
			if tc.want == 0 {
				time.Sleep(1000 * time.Hour)
				require.Equal(b, 1, b.saves())
				p.Abandon()
				return
			}
			time.Sleep(tc.want - 1)
			require.Equal(b, 1, b.saves())
			time.Sleep(1 + checkpoint.DefaultBackoffMin)
			synctest.Wait()
			require.Equal(b, "1", b.row("a").Position)
		}, append(tc.options, checkpoint.Interval(0))...)
	}
}

// Whoever gives no Logger finds the warnings in the standard one.
func TestOptions_TheDefaultLogger(t *testing.T) {
	var log bytes.Buffer
	standard := slog.Default()
	defer slog.SetDefault(standard)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	bubble(t, func(b *scene) {
		c := checkpoint.NewCommitter(b.memory, "orders")
		b.track(b.open(c, "a"), 1)[0].Ack()
		_, err := b.memory.Claim(b.Context(), checkpoint.Key{Pipeline: "orders", Partition: "a"}, "somebody else")
		require.NoError(b, err)
		require.ErrorIs(b, c.Close(b.Context()), checkpoint.ErrFenced)
		require.Contains(b, log.String(), "lost to a newer claim")
	})
}
