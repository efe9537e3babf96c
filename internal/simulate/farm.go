package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/ackgate/ackgate/internal/sim"
)

// farm has worker processes run the seeds: within one process only one world at a
// time repeats.
func farm(processes int, from uint64, n int) ([]sim.Report, error) {
	reports := make([]sim.Report, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	errs := make([]error, min(processes, n))
	var side sync.WaitGroup
	for p := range errs {
		side.Go(func() { errs[p] = hire(from, next, reports) })
	}
	side.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// hire gives one worker seeds until there are none.
func hire(from uint64, next <-chan int, reports []sim.Report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-worker")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answers := json.NewDecoder(out)
	for i := range next {
		if _, err = fmt.Fprintln(in, from+uint64(i)); err == nil {
			err = answers.Decode(&reports[i])
		}
		if err != nil {
			_ = cmd.Wait()
			return fmt.Errorf("the worker of seed %d died: %w\nsim: see it: go run $(tools/steady.sh) ./internal/simulate -v -seed %d", from+uint64(i), err, from+uint64(i))
		}
	}
	_ = in.Close()
	return cmd.Wait()
}

// work is a worker's life.
func work(t *testing.T, in io.Reader, out io.Writer) {
	seeds, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for seeds.Scan() {
		var seed uint64
		if _, err := fmt.Sscan(seeds.Text(), &seed); err != nil {
			t.Fatal(err)
		}
		if err := answers.Encode(sim.Run(t, seed, nil)); err != nil {
			t.Fatal(err)
		}
	}
}
