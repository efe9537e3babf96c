package tracker

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"
)

// bytes is what a Frontier keeps for its slots.
func (f *Frontier[P]) bytes() int {
	return cap(f.slots)*int(unsafe.Sizeof(slot[P]{})) + len(f.moved)*16
}

func TestT8_SlotCosts24BytesAndThePosition(t *testing.T) {
	require.Equal(t, 24+unsafe.Sizeof(uint64(0)), unsafe.Sizeof(slot[uint64]{}))
	require.Equal(t, 24+unsafe.Sizeof(""), unsafe.Sizeof(slot[string]{}))
}

func TestT8_OneStuckTicketCostsOneTicket(t *testing.T) {
	n := 2_000_000
	if raceEnabled || testing.Short() {
		n = 100_000
	}
	ctx := context.Background()
	var f Frontier[uint64]
	stuck, err := f.Track(ctx, 0, 1)
	require.NoError(t, err)
	before := heap()
	for i := range n {
		tk, err := f.Track(ctx, uint64(i+1), 1)
		if err != nil || !tk.Ack() {
			t.Fatal("not settled", err)
		}
	}
	require.Less(t, f.bytes(), 1000, "slots grew with the distance")
	require.Less(t, heap()-before, 1<<20, "something else grew with the distance")
	_, ok := f.Position()
	require.False(t, ok)
	require.True(t, stuck.Ack())
	pos, _ := f.Position()
	require.EqualValues(t, n, pos, "closing the gap moves over the whole settled run")
}

// A burst is settled but for a few, wherever these are: the memory comes back,
// and the few still settle by the tickets they had.
func TestT8_BurstIsGivenBack(t *testing.T) {
	const n = 60_000
	ctx := context.Background()
	for _, left := range [][]int{{}, {0}, {n / 2}, {n - 1}, {0, 1, n / 3, n - 2, n - 1}} {
		var f Frontier[string]
		tickets := make([]Ticket[string], 0, n)
		for i := range n {
			tk, err := f.Track(ctx, fmt.Sprint(i), 1)
			require.NoError(t, err)
			tickets = append(tickets, tk)
		}
		burst := f.bytes()
		keep := map[int]bool{}
		for _, i := range left {
			keep[i] = true
		}
		for i, tk := range tickets {
			if !keep[i] && !tk.Ack() {
				t.Fatal("not settled")
			}
		}
		require.NoError(t, f.check())
		require.Equal(t, len(left), f.Stats().Outstanding)
		require.Less(t, f.bytes(), burst/15, "left %v", left)
		require.LessOrEqual(t, f.bytes(), (2*keepSlots+1)*int(unsafe.Sizeof(slot[string]{})), "left %v", left)

		for range 100 { // it goes on as if nothing had happened
			tk, err := f.Track(ctx, "later", 1)
			require.NoError(t, err)
			require.True(t, tk.Ack())
		}
		for _, i := range left {
			require.True(t, tickets[i].Nack(nil))
			require.True(t, tickets[i].Ack())
			require.False(t, tickets[i].Ack())
		}
		require.NoError(t, f.check())
		require.Empty(t, f.moved)
		pos, ok := f.Position()
		require.True(t, ok)
		require.Equal(t, "later", pos)
	}
}

func TestT8_SettledPositionsAreNotKeptAlive(t *testing.T) {
	type big [4096]byte
	ctx := context.Background()
	var f Frontier[*big]
	first, _ := f.Track(ctx, new(big), 1)
	kept, middle := func() (weak.Pointer[big], Ticket[*big]) {
		pos := new(big)
		tk, _ := f.Track(ctx, pos, 1)
		return weak.Make(pos), tk
	}()
	last, _ := f.Track(ctx, new(big), 1)
	runtime.GC()
	require.NotNil(t, kept.Value(), "it is outstanding")
	// The middle one folds into the first, is replaced there by the last, and
	// so is of no use, although nothing before it is settled.
	require.True(t, middle.Ack())
	require.True(t, last.Ack())
	runtime.GC()
	require.Nil(t, kept.Value())
	require.True(t, first.Ack())
	runtime.KeepAlive(&f)
}

func TestT8_SteadyStateAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	f := New[uint64](Config{Limit: 1 << 20, OnAdvance: func() {}})
	items := make([]Item[uint64], 1000)
	tickets := make([]Ticket[uint64], 0, len(items))
	page := func() {
		var err error
		if tickets, err = f.TrackAll(ctx, items, tickets[:0]); err != nil {
			t.Fatal(err)
		}
		for _, tk := range tickets[:10] {
			tk.Discard()
		}
		if AckAll(tickets) != len(items)-10 {
			t.Fatal("not settled")
		}
	}
	page()
	require.Zero(t, testing.AllocsPerRun(100, page))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		tk, _ := f.Track(ctx, 1, 1)
		tk.Nack(nil)
		tk.Ack()
		f.Position()
		f.Snapshot()
		f.Stats()
	}))
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
