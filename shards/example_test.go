package shards_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ackgate/ackgate/shards"
)

// Where a shard is read from, as evidence grows.
func ExampleResolve() {
	origin := shards.Origin{Latest: true, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	n, err := shards.ParseSequenceNumber("100000000003498069978")
	if err != nil {
		panic(err)
	}

	show := func(what string, e shards.Evidence) {
		e.Origin = origin
		s := shards.Resolve(e)
		fmt.Printf("%s: %v\n", what, s.Kind)
	}
	show("first discovery of a fresh pipeline", shards.Evidence{Fresh: true})
	show("its iterator expired before a record", shards.Evidence{Fresh: true, Positioned: true})
	show("the child of a rotation", shards.Evidence{})
	show("after a restart", shards.Evidence{Checkpoint: n})
	show("read to its end before", shards.Evidence{Checkpoint: n, Complete: true})
	// Output:
	// first discovery of a fresh pipeline: LATEST
	// its iterator expired before a record: TRIM_HORIZON
	// the child of a rotation: TRIM_HORIZON
	// after a restart: AFTER_SEQUENCE_NUMBER
	// read to its end before: NONE
}

// Parents before children, though the child was listed first.
func ExampleLineage() {
	var l shards.Lineage
	l.Begin()
	l.Observe(shards.Shard{ID: "child", Parents: []string{"parent"}}, shards.Shard{ID: "parent", Closed: true})
	l.End()
	fmt.Println(l.Take())
	l.Complete("parent") // every record of it is settled, and durably so
	fmt.Println(l.Take())
	// Output:
	// [parent]
	// [child]
}

func ExampleGap() {
	var err error = shards.Gap{Stream: "2026-01-01T00:00:00.000", Shard: "shardId-1", Gone: true}
	fmt.Println(errors.Is(err, shards.ErrGap))
	// Output: true
}

func ExampleClassify() {
	fmt.Println(shards.Classify(shards.GetRecords, "ExpiredIteratorException"))
	fmt.Println(shards.Classify(shards.GetShardIterator, "ResourceNotFoundException"))
	// Output:
	// renew
	// gap-gone
}
