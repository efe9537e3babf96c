// Command shards measures what a stream's reader costs: memory and goroutines
// a shard, and time a record, with the SDK's decoding of JSON apart.
package main

import (
	"github.com/ackgate/ackgate/bench/report"
)

const (
	idleShards = 2000
	pages      = 100
	perPage    = 1000
	records    = pages * perPage
)

func main() {
	s := report.New()

	bytes, goroutines := perShard(idleShards)
	s.Value("streamreader/bytes-per-idle-shard", bytes, "B")
	s.Value("streamreader/goroutines-per-idle-shard", goroutines, "goroutines")

	s.Add("shards/compare-sequence-numbers", compare)
	s.Add("shards/resolve", resolve)
	s.Add("shards/lineage-35000-shards-listed-and-read", lineage)
	s.Add("shards/lineage-35000-shards-listed-again", listedAgain)
	s.Add("shards/lineage-35000-generations-of-1-listed", generations)
	s.Add("streamreader/100000-records-1-shard", throughput(1))
	s.Add("streamreader/100000-records-8-shards", throughput(8))
	s.Add("sdk/get-records-page-of-1000", sdkPage())
	s.Run()

	one := s.NsPerOp("streamreader/100000-records-1-shard") / records
	eight := s.NsPerOp("streamreader/100000-records-8-shards") / records
	sdk := s.NsPerOp("sdk/get-records-page-of-1000") / perPage
	s.Value("streamreader+tracker/ns-per-record-1-shard", one, "ns")
	s.Value("streamreader+tracker/records-per-second-1-shard", 1e9/one, "1/s")
	s.Value("streamreader+tracker/ns-per-record-8-shards", eight, "ns")
	s.Value("streamreader+tracker/records-per-second-8-shards", 1e9/eight, "1/s")
	s.Value("sdk-json/ns-per-record", sdk, "ns")
	s.Value("sdk-json/share-of-a-record", 100*sdk/(sdk+one), "%")
	s.Exit()
}
