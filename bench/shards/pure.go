package main

import (
	"fmt"
	"testing"

	"github.com/ackgate/ackgate/shards"
)

func compare(b *testing.B) {
	x, err := shards.ParseSequenceNumber("000000000000000000000123456789012345678901")
	if err != nil {
		b.Fatal(err)
	}
	y, err := shards.ParseSequenceNumber("123456789012345678902")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if x.Compare(y) >= 0 {
			b.Fatal("wrong")
		}
	}
}

func resolve(b *testing.B) {
	n, err := shards.ParseSequenceNumber("123456789012345678902")
	if err != nil {
		b.Fatal(err)
	}
	e := shards.Evidence{Checkpoint: n}
	for b.Loop() {
		if shards.Resolve(e).Kind != shards.AfterSequenceNumber {
			b.Fatal("wrong")
		}
	}
}

// lineage lists 5,000 lines of seven generations, children first, and reads them.
func lineage(b *testing.B) {
	const lines, generations = 5000, 7
	var list []shards.Shard
	for g := generations - 1; g >= 0; g-- {
		for i := range lines {
			s := shards.Shard{ID: fmt.Sprintf("%d-%d", g, i), Closed: g < generations-1}
			if g > 0 {
				s.Parents = []string{fmt.Sprintf("%d-%d", g-1, i)}
			}
			list = append(list, s)
		}
	}
	for b.Loop() {
		var l shards.Lineage
		l.Begin()
		for i := 0; i < len(list); i += 100 {
			l.Observe(list[i : i+100]...)
		}
		l.End()
		taken := 0
		for ids := l.Take(); len(ids) > 0; ids = l.Take() {
			taken += len(ids)
			for _, id := range ids {
				l.Complete(id)
			}
		}
		if taken != len(list) {
			b.Fatal("not all handed out")
		}
	}
}
