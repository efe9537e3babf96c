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

// history is lines times generations shards, the last generation first, or last.
func history(lines, generations int, lastFirst bool) []shards.Shard {
	var list []shards.Shard
	for g := range generations {
		if lastFirst {
			g = generations - 1 - g
		}
		for i := range lines {
			s := shards.Shard{ID: fmt.Sprintf("shardId-%020d-%08x", g, i), Closed: g < generations-1}
			if g > 0 {
				s.Parents = []string{fmt.Sprintf("shardId-%020d-%08x", g-1, i)}
			}
			list = append(list, s)
		}
	}
	return list
}

func list(l *shards.Lineage, all []shards.Shard) {
	l.Begin()
	for i := 0; i < len(all); i += 100 {
		l.Observe(all[i : i+100]...)
	}
	l.End()
}

// read takes and completes all, and reports how many.
func read(l *shards.Lineage) (taken int) {
	for ids := l.Take(); len(ids) > 0; ids = l.Take() {
		taken += len(ids)
		for _, id := range ids {
			l.Complete(id)
		}
	}
	return taken
}

// lineage lists 5,000 lines of seven generations, children first, and reads them.
func lineage(b *testing.B) {
	all := history(5000, 7, true)
	for b.Loop() {
		var l shards.Lineage
		list(&l, all)
		if read(&l) != len(all) {
			b.Fatal("not all handed out")
		}
	}
}

// listedAgain is what every later listing costs, with the questions behind it.
func listedAgain(b *testing.B) {
	all := history(5000, 7, false)
	var l shards.Lineage
	list(&l, all)
	read(&l)
	for b.Loop() {
		list(&l, all)
		if len(l.Missing())+len(l.Forgettable())+l.Held() > 0 || len(l.Leaves()) != 5000 {
			b.Fatal("wrong")
		}
	}
}

// generations lists as many shards in one line: the price of a shard must not
// grow with the number of its ancestors.
func generations(b *testing.B) {
	all := history(1, 35_000, false)
	for b.Loop() {
		var l shards.Lineage
		list(&l, all)
		if l.Counts().Waiting != len(all) {
			b.Fatal("wrong")
		}
	}
}
