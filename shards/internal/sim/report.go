package sim

import (
	"fmt"
	"time"
)

// Report is what was counted.
type Report struct {
	Records, Settled, Repeated     int
	Crashes, Stops, Shards         int
	GetRecords, DescribeStream     int
	OverLimit                      int           // calls beyond the documented rates
	GetPeak, DescribePeak          int           // most calls in a second: of any one shard, of the account
	Lasted                         time.Duration // virtual
	Open                           int           // shards at the end
	Days                           []Day
	Cost                           Cost
	Longest                        time.Duration // from the write to the ack
	Lost, EarlyChildren, OnResume  int
	DurableAhead, OutOfOrder, Gaps int
	Err                            error // what ended a reader that should have gone on
}

// Bad reports whether something happened that must not.
func (r Report) Bad() bool { return len(r.Faults()) > 0 }

// Faults names what happened that must not.
func (r Report) Faults() (faults []string) {
	for _, f := range []struct {
		name string
		n    int
	}{
		{"lost", r.Lost},
		{"early-children", r.EarlyChildren},
		{"latest-on-resume", r.OnResume},
		{"durable-ahead", r.DurableAhead},
		{"out-of-order", r.OutOfOrder},
		{"gaps", r.Gaps},
		{"over-limit", r.OverLimit},
	} {
		if f.n > 0 {
			faults = append(faults, fmt.Sprintf("%s %d", f.name, f.n))
		}
	}
	if what, growth, _ := Growth(r.Days); growth > MaxGrowth {
		faults = append(faults, fmt.Sprintf("%s grew to %.2f times", what, growth))
	}
	if r.Err != nil {
		faults = append(faults, "the reader ended: "+r.Err.Error())
	}
	return faults
}

// Line is the verdict.
func (r Report) Line(cfg Config) string {
	cfg.setDefaults()
	return fmt.Sprintf("sim: shards %d days %d lost %d early-children %d latest-on-resume %d",
		cfg.Shards, int(cfg.Duration.Hours()/24), r.Lost, r.EarlyChildren, r.OnResume)
}

// Details is everything else, in one line.
func (r Report) Details() string {
	seconds := max(1, r.Lasted.Seconds())
	return fmt.Sprintf("records %d repeated %d crashes %d stops %d shards-seen %d durable-ahead %d out-of-order %d gaps %d "+
		"get-records %d (a shard %.4f/s, peak %d/s) describe-stream %d (%.2f/s, peak %d/s) over-limit %d longest-ack %v",
		r.Records, r.Repeated, r.Crashes, r.Stops, r.Shards, r.DurableAhead, r.OutOfOrder, r.Gaps,
		r.GetRecords, float64(r.GetRecords)/seconds/float64(max(1, r.Open)), r.GetPeak,
		r.DescribeStream, float64(r.DescribeStream)/seconds, r.DescribePeak, r.OverLimit, r.Longest.Round(time.Second))
}

// Pace is what the reader was set to.
func (c Config) Pace() string {
	c.setDefaults()
	describe := "5/s (default)"
	if c.DescribeRate > 0 {
		describe = fmt.Sprintf("at most %g/s", c.DescribeRate)
	}
	return fmt.Sprintf("a record a shard every %v; poll 200ms (default), idle poll grows to %v (default 2s); discovery every %v (default 30s), DescribeStream %s",
		c.WriteEvery, c.IdlePoll, c.Discovery, describe)
}

// Memory is the verdict on memory, in one line.
func (r Report) Memory() string {
	what, growth, ok := Growth(r.Days)
	if !ok {
		return fmt.Sprintf("memory not judged: that takes %d days", flatDays)
	}
	verdict := "memory flat"
	if growth > MaxGrowth {
		verdict = "memory grows"
	}
	return fmt.Sprintf("%s: %s is %.2f times as much in the last third of the days as in the second (medians; limit %.2f)",
		verdict, what, growth, MaxGrowth)
}
