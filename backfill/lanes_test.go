package backfill

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainItem is an item of the naive model: everything is looked up by walking.
type plainItem struct {
	lane     string
	out      bool
	attempts int
	due      time.Time
	it       *item[int]
}

// mayGo says when an item may be handed out: false never before something else
// happens.
func mayGo(all []*plainItem, p *plainItem, per int) bool {
	out := 0
	for _, q := range all {
		if q.lane != p.lane {
			continue
		}
		if q.out {
			out++
		}
	}
	if p.out || out >= per {
		return false
	}
	for _, q := range all {
		if q == p {
			return true
		}
		if q.lane == p.lane && (!q.out || q.attempts > 1) {
			return false // an earlier one waits, or is being tried again
		}
	}
	return true
}

func TestLanesAgainstANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.IntRange(1, 3).Draw(t, "per")
		l := newLanes[int](per)
		var all []*plainItem
		now := time.Unix(0, 0).Add(time.Hour)
		out := func() (o []*plainItem) {
			for _, p := range all {
				if p.out {
					o = append(o, p)
				}
			}
			return o
		}
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n++
				it := &item[int]{b: n, lane: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "lane")}
				l.add(it)
				all = append(all, &plainItem{lane: it.lane, it: it})
			},
			"next": func(t *rapid.T) {
				it, wait := l.next(now)
				var soonest time.Duration
				for _, p := range all {
					if !mayGo(all, p, per) {
						continue
					}
					if d := p.due.Sub(now); p.due.IsZero() || d <= 0 {
						require.NotNil(t, it, "%d may go", p.it.b)
					} else if soonest == 0 || d < soonest {
						soonest = d
					}
				}
				if it == nil {
					require.Equal(t, soonest, wait)
					return
				}
				i := slices.IndexFunc(all, func(p *plainItem) bool { return p.it == it })
				require.True(t, mayGo(all, all[i], per), "%d may not go", it.b)
				require.False(t, all[i].due.After(now))
				all[i].out = true
				all[i].attempts++
				all[i].due = time.Time{}
				require.Equal(t, all[i].attempts, it.attempts)
			},
			"retry": func(t *rapid.T) {
				if len(out()) == 0 {
					t.Skip()
				}
				p := rapid.SampledFrom(out()).Draw(t, "item")
				p.out, p.due = false, now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "pause"))*time.Second)
				l.retry(p.it, p.due)
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				p := rapid.SampledFrom(all).Draw(t, "item") // one that waits, too: Close
				l.remove(p.it)
				all = slices.DeleteFunc(all, func(q *plainItem) bool { return q == p })
			},
			"time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second) },
			"": func(t *rapid.T) {
				require.NoError(t, l.check())
				require.Equal(t, len(all), l.held)
				require.Len(t, l.idle(), len(all)-len(out()))
			},
		})
	})
}

func TestGateAgainstANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type plain struct {
			e     *batch
			taken bool
			nacks int
		}
		g := newGate(Backfilling)
		now := time.Unix(0, 0)
		var open, ended []*plain
		pick := func(t *rapid.T, from []*plain) *plain {
			if len(from) == 0 {
				t.Skip()
			}
			return rapid.SampledFrom(from).Draw(t, "batch")
		}
		var want HalfStats
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				open = append(open, &plain{e: g.add(nil, nil, now)})
				want.Read++
			},
			"take": func(t *rapid.T) {
				p := pick(t, open)
				if p.taken {
					require.Equal(t, ErrStale, g.take(p.e))
					want.Stale++
					return
				}
				require.NoError(t, g.take(p.e))
				p.taken = true
			},
			"take a settled one": func(t *rapid.T) {
				require.Equal(t, ErrStale, g.take(pick(t, ended).e))
				want.Stale++
			},
			"give": func(t *rapid.T) {
				p := pick(t, open)
				if !p.taken {
					t.Skip()
				}
				v := rapid.SampledFrom([]verdict{undecided, delivered, discarded, nacked}).Draw(t, "verdict")
				age := g.give(p.e, v, errors.New("x"), now)
				p.taken = false
				switch v {
				case nacked:
					p.nacks++
					want.Nacked++
				case delivered, discarded:
					if v == delivered {
						want.Delivered++
					} else {
						want.Discarded++
					}
					want.Latency.Count++
					want.Latency.Sum += age
					want.Latency.Max = max(want.Latency.Max, age)
					open = slices.DeleteFunc(open, func(q *plain) bool { return q == p })
					ended = append(ended, p)
				}
			},
			"time": func(*rapid.T) { now = now.Add(time.Second) },
			"": func(t *rapid.T) {
				require.NoError(t, g.check())
				want.Outstanding, want.OldestAge = len(open), 0
				if len(open) > 0 {
					want.OldestAge = now.Sub(open[0].e.readAt)
				}
				require.Equal(t, want, g.stats(now))
				e, s, ok := g.eldest(now)
				require.Equal(t, len(open) > 0, ok)
				if ok {
					require.Same(t, open[0].e, e)
					require.Equal(t, open[0].nacks, s.Nacks)
				}
			},
		})
	})
}

// What a batch is called in reports: by its own name, or by its half and number.
func TestBatchesHaveNames(t *testing.T) {
	now := time.Unix(0, 0)
	for half, name := range map[Phase]string{Backfilling: "backfill", Streaming: "stream"} {
		g := newGate(half)
		require.Equal(t, name+" batch 1", g.add(7, nil, now).name)
		require.Equal(t, "stream []", g.add(page{lane: "stream"}, nil, now).name)
		require.Equal(t, name+" batch 3", g.add(7, nil, now).name)
	}
}

func TestBackoffBounds(t *testing.T) {
	b := Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for n, full := range []time.Duration{0, 100, 200, 400, 800, 1000, 1000} {
		full *= time.Millisecond
		if n == 0 {
			continue
		}
		seen := map[time.Duration]bool{}
		for range 50 {
			d := b.Pause(n)
			require.LessOrEqual(t, d, full, fmt.Sprint(n))
			require.GreaterOrEqual(t, d, full/2, fmt.Sprint(n))
			seen[d] = true
		}
		require.Greater(t, len(seen), 10, "no jitter")
	}
}
