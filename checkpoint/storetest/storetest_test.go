package storetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ackgate/ackgate/checkpoint"
	"github.com/ackgate/ackgate/checkpoint/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without faults, the wrapper is as good as what it wraps.
func TestFaultyWithoutFaults(t *testing.T) {
	storetest.Run(t, func(*testing.T) checkpoint.Store { return storetest.NewFaulty(checkpoint.NewMemory(), nil) })
}

func TestFaulty_Kinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		inner := checkpoint.NewMemory()
		var next storetest.Fault
		f := storetest.NewFaulty(inner, func(storetest.Call) storetest.Fault { return next })
		key := checkpoint.Key{Pipeline: "p", Partition: "a"}
		cp, err := f.Claim(ctx, key, "me")
		require.NoError(t, err)

		save := func(fault storetest.Fault, position string) (string, error) {
			next = fault
			cp.Revision++
			cp.Position = position
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err := f.Save(short, cp)
			row, loadErr := inner.Load(ctx, key)
			require.NoError(t, loadErr)
			return row.Position, err
		}
		at, err := save(storetest.Fault{Delay: time.Second}, "1")
		require.NoError(t, err)
		require.Equal(t, "1", at)
		at, err = save(storetest.Fault{Kind: storetest.Throttled}, "2")
		require.ErrorIs(t, err, storetest.ErrThrottled)
		require.Equal(t, "1", at)
		at, err = save(storetest.Fault{Kind: storetest.Hung}, "3")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "1", at)
		at, err = save(storetest.Fault{Kind: storetest.Lost}, "4")
		require.ErrorIs(t, err, storetest.ErrLost)
		require.Equal(t, "4", at)
		at, err = save(storetest.Fault{Kind: storetest.Late, After: time.Second}, "5")
		require.ErrorIs(t, err, storetest.ErrLost)
		require.Equal(t, "4", at)
		f.Settle()
		row, err := inner.Load(ctx, key)
		require.NoError(t, err)
		require.Equal(t, "5", row.Position)

		require.True(t, f.Cut())
		require.False(t, f.Cut())
		at, err = save(storetest.Fault{}, "6")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "5", at)
		require.True(t, f.Heal())
		require.False(t, f.Heal())
		require.Equal(t, 6, f.Calls(storetest.OpSave))
	})
}

func TestSeeded_RepeatsItself(t *testing.T) {
	rates := storetest.Rates{Throttled: 0.2, Lost: 0.2, Late: 0.2, Latency: time.Second, After: time.Minute, Outage: 3, OutageRate: 0.02}
	a, b := storetest.Seeded(7, rates), storetest.Seeded(7, rates)
	kinds := make(map[storetest.Kind]int)
	var other int
	c := storetest.Seeded(8, rates)
	for n := 1; n <= 1000; n++ {
		call := storetest.Call{Op: storetest.OpSave, Key: checkpoint.Key{Pipeline: "p", Partition: "a"}, N: n}
		require.Equal(t, a(call), b(call))
		kinds[a(call).Kind]++
		if a(call) != c(call) {
			other++
		}
	}
	require.Greater(t, other, 500)
	for _, k := range []storetest.Kind{storetest.None, storetest.Throttled, storetest.Lost, storetest.Late} {
		require.Greater(t, kinds[k], 100, "kind %d", k)
	}
	require.Zero(t, kinds[storetest.Hung])
}
