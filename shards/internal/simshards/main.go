// Command simshards runs the shard simulation and prints its verdict:
//
//	go run ./shards/internal/simshards -shards 25 -days 30 -seed 1
//
// Many shards for weeks, the last two thirds of them read by one reader:
//
//	go run ./shards/internal/simshards -shards 5000 -write 2h -idle 30m -describe-rate 2 -calm
//
// The reader's own pace, for some minutes:
//
//	go run ./shards/internal/simshards -shards 5000 -for 10m -write 10m -idle 2s -discovery 30s
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackgate/ackgate/shards/internal/sim"
)

func main() {
	// Virtual time needs a test around it.
	testing.Init()
	shards := flag.Int("shards", 25, "shards open at once")
	days := flag.Int("days", 30, "virtual days")
	length := flag.Duration("for", 0, "virtual time, instead of -days")
	seed := flag.Uint64("seed", 1, "decides everything that is left to chance")
	idle := flag.Duration("idle", 10*time.Minute, "poll of an idle shard")
	discovery := flag.Duration("discovery", 10*time.Minute, "pause between listings while nothing rotates")
	write := flag.Duration("write", 40*time.Minute, "one record a shard is written this often, on average")
	describe := flag.Float64("describe-rate", 0, "limit of DescribeStream calls a second, 0 for the reader's default")
	calm := flag.Bool("calm", false, "one reader lives through the last two thirds of the time, for the verdict on memory")
	cpu := flag.String("cpuprofile", "", "file to write a CPU profile to")
	flag.Parse()
	cfg := sim.Config{
		Seed: *seed, Shards: *shards, Duration: time.Duration(*days) * 24 * time.Hour, WriteEvery: *write, Reshape: true, Calm: *calm,
		IdlePoll: *idle, Discovery: *discovery, DescribeRate: *describe,
		OnDay: func(d sim.Day) { fmt.Println("sim:", d) },
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // memory is cheaper than collecting it; what is printed is counted after a collection
	}
	if *length > 0 {
		cfg.Duration = *length
	}
	stop, err := profile(*cpu)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(2)
	}
	fmt.Println("sim:", cfg.Pace())
	began := time.Now()
	tests := []testing.InternalTest{{Name: "sim", F: func(t *testing.T) {
		var report sim.Report
		synctest.Test(t, func(*testing.T) { report = sim.Run(cfg) })
		stop()
		if len(report.Days) > 0 {
			fmt.Println("sim:", report.Cost)
		}
		fmt.Println("sim:", report.Memory())
		fmt.Printf("sim: %s real-time %v\n", report.Details(), time.Since(began).Round(100*time.Millisecond))
		fmt.Println(report.Line(cfg))
		if faults := report.Faults(); len(faults) > 0 {
			fmt.Fprintln(os.Stderr, "sim: failed:", strings.Join(faults, ", "))
			os.Exit(1)
		}
		os.Exit(0) // before the test's own verdict
	}}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
}

// profile starts a CPU profile, if one was asked for.
func profile(file string) (stop func(), _ error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
