package checkpoint_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

// A pipeline was taken for fresh until its first record settled, so a crash
// before that let the next run begin at the end of the stream once more.
func TestBegin_OnlyTheRunThatCreatedTheOriginIsFresh(t *testing.T) {
	ctx := t.Context()
	store := checkpoint.NewMemory()
	o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("x", 3600)), Source: "table"}
	first, fresh, err := checkpoint.Begin(ctx, store, "orders", o)
	require.NoError(t, err)
	require.True(t, fresh.Use())
	require.False(t, fresh.Use(), "used up")
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC), first.Time, "the source's clock, in whole seconds")
	for range 3 { // crashed before anything was saved
		again, fresh, err := checkpoint.Begin(ctx, store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.False(t, fresh.Use())
	}
}

func TestBegin_APipelineWithRowsIsNotFresh(t *testing.T) {
	ctx := t.Context()
	store := checkpoint.NewMemory()
	_, err := store.Claim(ctx, checkpoint.Key{Pipeline: "orders", Partition: "a"}, "me")
	require.NoError(t, err)
	_, fresh, err := checkpoint.Begin(ctx, store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
	require.NoError(t, err)
	require.False(t, fresh.Use())
}

func TestBegin_RefusesWhatItCannotMean(t *testing.T) {
	store := checkpoint.NewMemory()
	for _, o := range []checkpoint.Origin{{}, {Start: "newest"}, {Start: checkpoint.StartLatest}} {
		_, fresh, err := checkpoint.Begin(t.Context(), store, "orders", o)
		require.Error(t, err)
		require.False(t, fresh.Use())
	}
	_, _, err := checkpoint.Begin(t.Context(), store, "", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
	require.ErrorIs(t, err, checkpoint.ErrKey)
	has, err := store.HasAny(t.Context(), "orders")
	require.NoError(t, err)
	require.False(t, has)
}

// However often Begin is called, fails, or loses its answer: at most one call is
// ever told that it is fresh.
func TestBegin_FreshAtMostOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewFaulty(checkpoint.NewMemory(),
			storetest.Seeded(rapid.Uint64().Draw(t, "seed"), storetest.Rates{Throttled: 0.3, Lost: 0.4}))
		fresh, created := 0, 0
		var standing checkpoint.Origin
		for n := range 10 {
			o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(int64(n+1), 0).UTC()}
			got, f, err := checkpoint.Begin(context.Background(), store, "orders", o)
			if err != nil {
				if f.Use() {
					t.Fatal("fresh in spite of an error")
				}
				continue
			}
			if f.Use() {
				fresh++
				if got != o {
					t.Fatalf("fresh, but %v stands", got)
				}
			}
			if created++; created > 1 && got != standing {
				t.Fatalf("the origin changed from %v to %v", standing, got)
			}
			standing = got
		}
		if fresh > 1 {
			t.Fatalf("%d calls are fresh", fresh)
		}
	})
}

// Two that start at once both see an empty store; one of them creates the
// origin, and only that one is fresh.
func TestBegin_OneOfTwoAtOnceIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewFaulty(checkpoint.NewMemory(), func(c storetest.Call) storetest.Fault {
			return storetest.Fault{Delay: time.Second}
		})
		fresh := make([]*checkpoint.Freshness, 2)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range fresh {
			wg.Go(func() {
				_, fresh[i], errs[i] = checkpoint.Begin(t.Context(), store, "orders", checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NotEqual(t, fresh[0].Use(), fresh[1].Use())
	})
}

func TestFreshness_ZeroAndNilAreNotUsable(t *testing.T) {
	require.False(t, (*checkpoint.Freshness)(nil).Use())
	require.False(t, new(checkpoint.Freshness).Use())
}

func TestMemory_ListHandsCancellationOn(t *testing.T) {
	store := checkpoint.NewMemory()
	for _, name := range []string{"a", "b"} {
		_, err := store.Claim(t.Context(), checkpoint.Key{Pipeline: "orders", Partition: name}, name)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs []error
	for _, err := range store.List(ctx, "orders", "") {
		errs = append(errs, err)
		cancel()
	}
	require.Len(t, errs, 2)
	require.NoError(t, errs[0])
	require.True(t, errors.Is(errs[1], context.Canceled))
}
