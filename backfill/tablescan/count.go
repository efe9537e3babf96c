package tablescan

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// counts are what Progress is made of.
type counts struct {
	began                       time.Time
	rows, pages, bytes, retries atomic.Uint64
	settled                     atomic.Uint64
	microUnits                  atomic.Uint64
	segments                    atomic.Int64 // read to the end
	estimate                    atomic.Int64

	before  int64 // segments complete before this attempt; set before it starts
	resumed bool  // as before
}

func (c *counts) page(out *dynamodb.ScanOutput) {
	c.pages.Add(1)
	c.rows.Add(uint64(len(out.Items)))
	c.bytes.Add(uint64(sizeOf(out.Items)))
}

func (c *counts) consumed(units float64) { c.microUnits.Add(uint64(math.Round(units * 1e6))) }

func (a *attempt) progress(now time.Time) Progress {
	p := Progress{
		Segments:      a.run.Plan.Segments,
		SegmentsDone:  int(a.count.segments.Load()),
		Rows:          a.count.rows.Load(),
		Pages:         a.count.pages.Load(),
		Bytes:         a.count.bytes.Load(),
		Units:         float64(a.count.microUnits.Load()) / 1e6,
		Retries:       a.count.retries.Load(),
		InFlight:      len(a.slots),
		EstimatedRows: a.count.estimate.Load(),
		Elapsed:       now.Sub(a.count.began),
	}
	p.ETA = eta(p, a.count.resumed, int(a.count.before))
	return p
}

// eta is pure. What was read before this attempt is not known in rows, so a
// resumed attempt is measured in whole segments.
func eta(p Progress, resumed bool, before int) time.Duration {
	done, all := float64(p.Rows), float64(p.EstimatedRows)
	if resumed {
		done, all = float64(p.SegmentsDone-before), float64(p.Segments-before)
	}
	if p.SegmentsDone == p.Segments || done <= 0 || all <= done {
		return 0
	}
	return time.Duration(float64(p.Elapsed) * (all - done) / done).Round(time.Second)
}

// consumed is what a page cost. A server that does not say is charged by size.
func consumed(out *dynamodb.ScanOutput, eventually bool) float64 {
	if cc := out.ConsumedCapacity; cc != nil && cc.CapacityUnits != nil {
		return *cc.CapacityUnits
	}
	units := math.Ceil(float64(sizeOf(out.Items)) / 4096)
	if eventually {
		units /= 2
	}
	return units
}

// sizeOf is about the size that DynamoDB bills.
func sizeOf(items []map[string]types.AttributeValue) (n int) {
	for _, item := range items {
		for name, v := range item {
			n += len(name) + valueSize(v)
		}
	}
	return n
}

func valueSize(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += len(s)/2 + 2
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberL:
		n = 3
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
	case *types.AttributeValueMemberM:
		n = 3
		for name, e := range v.Value {
			n += 1 + len(name) + valueSize(e)
		}
	default:
		n = 1 // BOOL, NULL
	}
	return n
}
