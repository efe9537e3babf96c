package checkpoint_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// Who waits for a partition hears of its end, whatever ends it.

// begin runs a call that waits, and gives its answer once there is one.
func (b *scene) begin(call func(context.Context) error) (answer func() error) {
	done := make(chan error, 1)
	go func() { done <- call(b.Context()) }()
	synctest.Wait()
	return func() error {
		synctest.Wait()
		select {
		case err := <-done:
			return err
		default:
			b.Fatal("it still waits")
			return nil
		}
	}
}

func TestC6_ADrainHearsOfTheEndOfItsPartition(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		b.track(p, 1)
		drain := b.begin(b.c.Drain)
		p.Abandon()
		require.ErrorIs(b, drain(), checkpoint.ErrReleased)
	})
}

// One Drain after another: none leaves anything behind that the next one stumbles on.
func TestC6_OneDrainAfterAnother(t *testing.T) {
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		for i := range 4 {
			item := b.track(p, i)[0]
			given, cancel := context.WithTimeout(b.Context(), time.Second)
			require.Equal(b, context.DeadlineExceeded, b.c.Drain(given))
			cancel()
			drain := b.begin(b.c.Drain)
			item.Ack()
			require.NoError(b, drain())
		}
	})
}

// A partition that ended while others were drained is an error if it had more to
// save, and none if it had not.
func TestC6_APartitionThatEndsWhileOthersAreDrained(t *testing.T) {
	for _, clean := range []bool{true, false} {
		bubble(t, func(b *scene) {
			p, slow := b.open(b.c, "a"), b.open(b.c, "slow")
			b.track(p, 1)[0].Ack()
			require.NoError(b, b.c.Flush(b.Context()))
			last := b.track(slow, 1)[0]
			if !clean {
				b.track(p, 2)[0].Ack()
			}
			drain := b.begin(b.c.Drain)
			p.Abandon()
			last.Ack()
			if clean {
				require.NoError(b, drain())
			} else {
				require.ErrorIs(b, drain(), checkpoint.ErrReleased)
			}
			require.Equal(b, "1", b.row("slow").Position)
		}, checkpoint.Interval(time.Hour))
	}
}

// What is durable when its partition ends was flushed, though the hook of its save
// still runs; what is not was not.
func TestC6_AFlushWhosePartitionEndsDuringTheHook(t *testing.T) {
	hooks := checkpoint.Hooks{Committed: func(checkpoint.Checkpoint) { time.Sleep(time.Minute) }}
	bubble(t, func(b *scene) {
		p := b.open(b.c, "a")
		items := b.track(p, 1, 2)
		items[0].Ack()
		time.Sleep(time.Second)
		saved := b.begin(b.c.Flush)
		items[1].Ack()
		unsaved := b.begin(b.c.Flush)
		require.Equal(b, "1", b.row("a").Position)
		p.Abandon()
		require.NoError(b, saved())
		require.ErrorIs(b, unsaved(), checkpoint.ErrReleased)
	}, checkpoint.Interval(0), checkpoint.WithHooks(hooks))
}

// A Flush that waits for the save that completes its partition.
func TestC6_AFlushOfACompletion(t *testing.T) {
	bubble(t, func(b *scene) {
		b.fail(onSave("", storetest.Fault{Delay: time.Second}))
		p := b.open(b.c, "a")
		b.track(p, 1)[0].Ack()
		p.Seal()
		flush := b.begin(b.c.Flush)
		<-p.Committed()
		require.NoError(b, flush())
	})
}

// Two that wait for one partition: each is answered when its own state is durable,
// and one that gives up takes nobody along.
func TestC6_TwoFlushesOfOnePartition(t *testing.T) {
	bubble(t, func(b *scene) {
		b.fail(onSave("", storetest.Fault{Delay: time.Second}))
		items := b.track(b.open(b.c, "a"), 1, 2)
		items[0].Ack()
		first := b.begin(b.c.Flush)
		items[1].Ack()
		second := b.begin(b.c.Flush)
		given, cancel := context.WithTimeout(b.Context(), time.Second/2)
		defer cancel()
		require.Equal(b, context.DeadlineExceeded, b.c.Flush(given))
		time.Sleep(time.Second / 2)
		require.NoError(b, first())
		require.Equal(b, "1", b.row("a").Position)
		time.Sleep(time.Second)
		require.NoError(b, second())
		require.Equal(b, "2", b.row("a").Position)
	}, checkpoint.Interval(time.Hour))
}

// The error of a flush that gave up counts and names what is still not durable.
func TestC6_AFlushThatGivesUpNamesWhatItWaitsFor(t *testing.T) {
	bubble(t, func(b *scene) {
		b.fail(always(storetest.Throttled))
		gone := b.open(b.c, "gone")
		b.track(gone, 1)[0].Ack()
		time.Sleep(time.Minute) // it fails
		for _, name := range []string{"a", "b"} {
			b.track(b.open(b.c, name), 1)[0].Ack()
		}
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		flush := b.begin(func(context.Context) error { return b.c.Flush(ctx) })
		gone.Abandon()
		time.Sleep(2 * time.Minute)
		err := flush()
		require.ErrorIs(b, err, checkpoint.ErrReleased)
		require.ErrorIs(b, err, context.DeadlineExceeded)
		require.ErrorContains(b, err, "2 partitions are not durable, among them orders/")
		require.NotContains(b, err.Error(), "orders/gone")
	})
	// One that ended is not what a hung one is given up for.
	bubble(t, func(b *scene) {
		b.fail(always(storetest.Throttled))
		gone := b.open(b.c, "gone")
		b.track(gone, 1)[0].Ack()
		time.Sleep(time.Minute)
		b.fail(hung(""))
		b.track(b.open(b.c, "a"), 1)[0].Ack()
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		flush := b.begin(func(context.Context) error { return b.c.Flush(ctx) })
		gone.Abandon()
		time.Sleep(time.Minute)
		err := flush()
		require.ErrorIs(b, err, checkpoint.ErrReleased)
		require.NotContains(b, err.Error(), "are not durable")
	})
}

// What has nothing to save waits for nobody, though every place for a save is taken.
func TestC7_NothingToSaveWaitsForNobody(t *testing.T) {
	bubble(t, func(b *scene) {
		clean := b.open(b.c, "clean")
		b.track(clean, 1)[0].Ack()
		require.NoError(b, b.c.Flush(b.Context()))
		b.fail(hung(""))
		b.track(b.open(b.c, "stuck"), 1)[0].Ack()
		synctest.Wait()
		require.NoError(b, b.begin(clean.Release)())
	}, checkpoint.Interval(0), checkpoint.Parallel(1))
}

// Every Close gives the answer of the first.
func TestC6_ASecondCloseGivesTheSameAnswer(t *testing.T) {
	bubble(t, func(b *scene) {
		b.fail(always(storetest.Throttled))
		b.track(b.open(b.c, "a"), 1)[0].Ack()
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		first := b.c.Close(ctx)
		require.ErrorIs(b, first, storetest.ErrThrottled)
		require.Equal(b, first, b.c.Close(b.Context()))
	})
}
