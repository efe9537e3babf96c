// Command simbackfill runs simulated pipelines that crash at store operations,
// each until one attempt is left alone, and prints what became of them:
//
//	go run ./backfill/internal/simbackfill -runs 1000 -seed 1
//
// The simulation is a test of package backfill, since it needs virtual time and
// looks at the package's inside; this is the long way to run it.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	runs := flag.Int("runs", 1000, "pipelines")
	seed := flag.Uint64("seed", 1, "the first one's seed; each next one has the next")
	flag.Parse()
	cmd := exec.Command("go", "test", "github.com/ackgate/ackgate/backfill", "-run", "^TestSimBackfill$", "-count", "1", "-v",
		"-args", "-sim.runs", strconv.Itoa(*runs), "-sim.seed", strconv.FormatUint(*seed, 10))
	out, err := cmd.CombinedOutput()
	verdict := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if strings.HasPrefix(s.Text(), "sim: ") {
			verdict = s.Text()
		}
	}
	if err != nil || verdict == "" {
		os.Stderr.Write(out)
		fmt.Fprintln(os.Stderr, "simbackfill:", err)
		os.Exit(1)
	}
	fmt.Println(verdict)
}
