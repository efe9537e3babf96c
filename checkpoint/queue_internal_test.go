package checkpoint

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The queue against a list that is searched from end to end.
func TestQueue_FirstIsDueFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var lanes, queued []*lane
		for range 8 {
			lanes = append(lanes, &lane{index: -1})
		}
		any := func(t *rapid.T) *lane { return rapid.SampledFrom(lanes).Draw(t, "lane") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				l := any(t)
				l.due = time.Unix(int64(rapid.IntRange(0, 20).Draw(t, "due")), 0)
				q.put(l)
				if !slices.Contains(queued, l) {
					queued = append(queued, l)
				}
			},
			"remove": func(t *rapid.T) {
				l := any(t)
				q.remove(l)
				queued = slices.DeleteFunc(queued, func(o *lane) bool { return o == l })
			},
			"": func(t *rapid.T) {
				first := q.first()
				if len(q) != len(queued) || (first == nil) != (len(queued) == 0) {
					t.Fatalf("%d are queued, want %d", len(q), len(queued))
				}
				for i, l := range q {
					if l.index != i {
						t.Fatalf("the lane at %d says %d", i, l.index)
					}
				}
				for _, l := range lanes {
					if slices.Contains(queued, l) != (l.index >= 0) {
						t.Fatalf("index %d of a lane that is queued: %v", l.index, slices.Contains(queued, l))
					}
					if l.index >= 0 && l.due.Before(first.due) {
						t.Fatalf("%v is first, %v is due earlier", first.due, l.due)
					}
				}
			},
		})
	})
}

func TestBackoff_DoublesUpToTheLongestLessHalf(t *testing.T) {
	b := backoff{min: 100 * time.Millisecond, max: time.Second}
	for failures, want := range map[int]time.Duration{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000, 6: 1000, 1 << 30: 1000} {
		want *= time.Millisecond
		if got := b.after(failures, 0); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
		if got := b.after(failures, 1); got != want/2 {
			t.Errorf("after %d failures, shortest: %v, want %v", failures, got, want/2)
		}
	}
}
