package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ackgate/ackgate/checkpoint"
)

func loadNothing(s *suite) {
	if cp, err := s.store.Load(s.ctx, s.key("p")); !errors.Is(err, checkpoint.ErrNotFound) {
		s.Fatalf("Load of nothing: %s, %v, want ErrNotFound", cp, err)
	}
}

func (s *suite) list(pipeline, prefix string) (names []string) {
	s.Helper()
	for cp, err := range s.store.List(s.ctx, pipeline, prefix) {
		if err != nil {
			s.Fatalf("List(%s, %q): %v", pipeline, prefix, err)
		}
		if cp.Pipeline != pipeline {
			s.Fatalf("List(%s) yields a row of %s", pipeline, cp.Pipeline)
		}
		names = append(names, cp.Partition)
	}
	return names
}

func listOrder(s *suite) {
	all := []string{
		"backfill/1/plan", "backfill/1/segment/0-of-2", "backfill/1/segment/1-of-2", "stream/A/1", "stream/A/10", "stream/A/2",
		"stream/B%/1", "stream/B_/1", "stream/B/1", "origin-like", "orig", "z", "ä", "Z", "stream", "~",
	}
	for _, name := range all {
		s.saved(s.claim(s.key(name)), "at/"+name)
	}
	// Neighbours that a sloppy key condition would catch.
	for _, other := range []string{s.pipeline("2"), s.pipeline("/stream")} {
		s.claim(checkpoint.Key{Pipeline: other, Partition: "stream/A/3"})
	}
	if _, _, err := s.store.Begin(s.ctx, s.pipeline(""), checkpoint.Origin{Start: checkpoint.StartTrimHorizon}); err != nil {
		s.Fatal(err)
	}
	slices.Sort(all)
	for _, prefix := range []string{"", "stream/A/", "stream/A/1", "stream/B", "stream/B%", "stream/B_", "o", "origin", "nothing", "ä"} {
		var want []string
		for _, name := range all {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		if got := s.list(s.pipeline(""), prefix); !slices.Equal(got, want) {
			s.Fatalf("List(%q):\n got %q\nwant %q", prefix, got, want)
		}
	}
	if got := s.list(s.pipeline("-none"), ""); got != nil {
		s.Fatalf("List of an unknown pipeline: %q", got)
	}
	for cp, err := range s.store.List(s.ctx, s.pipeline(""), "stream/A/") {
		if err != nil || cp.Position != "at/"+cp.Partition || cp.Fence != 1 {
			s.Fatalf("List yields %s, %v", cp, err)
		}
		break // ending early is allowed
	}
}

func listLoop(s *suite) {
	const n = 120
	for i := range n {
		s.claim(s.key(fmt.Sprintf("p/%03d", i)))
	}
	seen := 0
	for cp, err := range s.store.List(s.ctx, s.pipeline(""), "p/") {
		if err != nil {
			s.Fatal(err)
		}
		if err := s.store.Delete(s.ctx, cp.Key); err != nil {
			s.Fatal(err)
		}
		seen++
	}
	if left := s.list(s.pipeline(""), ""); seen != n || left != nil {
		s.Fatalf("saw %d of %d rows, left %q", seen, n, left)
	}
}

func (s *suite) wantAny(want bool) {
	s.Helper()
	if got, err := s.store.HasAny(s.ctx, s.pipeline("")); err != nil || got != want {
		s.Fatalf("HasAny: %v, %v, want %v", got, err, want)
	}
}

func hasAny(s *suite) {
	s.wantAny(false)
	s.claim(checkpoint.Key{Pipeline: s.pipeline("2"), Partition: "p"})
	s.wantAny(false)
	s.claim(s.key("p"))
	s.wantAny(true)
	if err := s.store.Delete(s.ctx, s.key("p")); err != nil {
		s.Fatal(err)
	}
	s.wantAny(false)
	if _, _, err := s.store.Begin(s.ctx, s.pipeline(""), checkpoint.Origin{Start: checkpoint.StartTrimHorizon}); err != nil {
		s.Fatal(err)
	}
	s.wantAny(true)
}

func sameOrigin(a, b checkpoint.Origin) bool {
	return a.Start == b.Start && a.Source == b.Source && a.Time.Equal(b.Time) && a.Time.IsZero() == b.Time.IsZero()
}

func beginOnce(s *suite) {
	for i, o := range []checkpoint.Origin{
		{Start: checkpoint.StartLatest, Time: aTime().Truncate(time.Second), Source: "arn:aws:dynamodb:eu-west-1:1:table/t/stream/2026-01-01T00:00:00.000"},
		{Start: checkpoint.StartTrimHorizon},
	} {
		name := s.pipeline(fmt.Sprint("-", i))
		for n := range 3 {
			asked := o
			if n > 0 {
				asked.Source, asked.Time = "another", time.Unix(1, 0)
			}
			got, created, err := s.store.Begin(s.ctx, name, asked)
			if err != nil || created != (n == 0) || !sameOrigin(got, o) {
				s.Fatalf("Begin %d: %+v, %v, %v, want %+v", n, got, created, err, o)
			}
		}
	}
}

func concurrentBegins(s *suite) {
	const n = 8
	created, standing, errs := make([]bool, n), make([]checkpoint.Origin, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(int64(1000+i), 0), Source: fmt.Sprint(i)}
			standing[i], created[i], errs[i] = s.store.Begin(s.ctx, s.pipeline(""), o)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	first := slices.Index(created, true)
	for i := range n {
		if first < 0 || created[i] != (i == first) || !sameOrigin(standing[i], standing[first]) || standing[i].Source != fmt.Sprint(first) {
			s.Fatalf("concurrent Begins: created %v, standing %+v: want one creator and its origin everywhere", created, standing)
		}
	}
}

// each runs do for every method that takes a key.
func (s *suite) each(ctx context.Context, key checkpoint.Key, do func(method string, err error)) {
	_, err := s.store.Claim(ctx, key, checkpoint.NewOwner(""))
	do("Claim", err)
	do("Save", s.store.Save(ctx, checkpoint.Checkpoint{Key: key, Fence: 1, Revision: 1, Position: "1"}))
	_, err = s.store.Load(ctx, key)
	do("Load", err)
	do("Delete", s.store.Delete(ctx, key))
}

// eachPipeline runs do for every method that takes a pipeline.
func (s *suite) eachPipeline(ctx context.Context, pipeline string, do func(method string, err error)) {
	_, err := s.store.HasAny(ctx, pipeline)
	do("HasAny", err)
	_, _, err = s.store.Begin(ctx, pipeline, checkpoint.Origin{Start: checkpoint.StartTrimHorizon})
	do("Begin", err)
	err = nil
	for _, e := range s.store.List(ctx, pipeline, "") {
		if err != nil {
			s.Fatal("List went on after an error")
		}
		err = e
	}
	do("List", err)
}

func (s *suite) want(want error) func(string, error) {
	return func(method string, err error) {
		s.Helper()
		if !errors.Is(err, want) {
			s.Fatalf("%s: %v, want %v", method, err, want)
		}
	}
}

func originReserved(s *suite) {
	o := checkpoint.Origin{Start: checkpoint.StartLatest, Time: time.Unix(1000, 0)}
	if _, _, err := s.store.Begin(s.ctx, s.pipeline(""), o); err != nil {
		s.Fatal(err)
	}
	s.each(s.ctx, s.key(checkpoint.OriginPartition), s.want(checkpoint.ErrReserved))
	if got, created, err := s.store.Begin(s.ctx, s.pipeline(""), checkpoint.Origin{Start: checkpoint.StartTrimHorizon}); err != nil || created || !sameOrigin(got, o) {
		s.Fatalf("the origin was touched: %+v, %v, %v", got, created, err)
	}
}

func badKeys(s *suite) {
	for _, name := range []string{"", "not\xffutf8", strings.Repeat("x", checkpoint.MaxPartition+1)} {
		s.each(s.ctx, s.key(name), s.want(checkpoint.ErrKey))
	}
	for _, name := range []string{"", "not\xffutf8", strings.Repeat("x", checkpoint.MaxPipeline+1)} {
		s.each(s.ctx, checkpoint.Key{Pipeline: name, Partition: "p"}, s.want(checkpoint.ErrKey))
		s.eachPipeline(s.ctx, name, s.want(checkpoint.ErrKey))
	}
	// The longest names that are allowed.
	long := checkpoint.Key{
		Pipeline:  s.pipeline(strings.Repeat("x", checkpoint.MaxPipeline-len(s.pipeline("")))),
		Partition: strings.Repeat("y", checkpoint.MaxPartition),
	}
	s.wantRow(s.saved(s.claim(long), "1"))
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.each(ctx, s.key("p"), s.want(context.Canceled))
	s.eachPipeline(ctx, s.pipeline(""), s.want(context.Canceled))
	s.wantAny(false)
}
