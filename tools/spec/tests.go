package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

type result struct{ pkg, test, status string }

var testName = regexp.MustCompile(`^(?:Test|Fuzz)([TCBSL][0-9]+)_`)

// runTests runs the root module's named tests once and sorts their results by
// invariant. A package that does not build is an error.
func runTests(prefixes []string) (map[string][]result, error) {
	pattern := "[TCBSL][0-9]+"
	if len(prefixes) > 0 {
		pattern = "(" + strings.Join(prefixes, "|") + ")[0-9]*"
	}
	cmd := exec.Command("go", "test", "-json", "-run", "^(Test|Fuzz)"+pattern+"_", "./...")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	runErr := cmd.Run() // red tests are told by their own lines

	results := map[string][]result{}
	output := map[string]string{}
	failedPackages, red := "", false
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output, ImportPath string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Action {
		case "output", "build-output":
			output[e.Package+e.ImportPath+e.Test] += e.Output
		case "pass", "fail", "skip":
			if e.Test == "" {
				if e.Action == "fail" {
					// A package may fail with no test of its own to blame: goleak, a panic.
					failedPackages += " " + e.Package + "\n" + output[e.Package]
				}
				continue
			}
			m := testName.FindStringSubmatch(e.Test)
			if m == nil || strings.Contains(e.Test, "/") {
				continue
			}
			if e.Action == "fail" {
				red = true
				fmt.Fprint(os.Stderr, output[e.Package+e.Test])
			}
			pkg := strings.TrimPrefix(strings.TrimPrefix(e.Package, "github.com/ackgate/ackgate"), "/")
			results[m[1]] = append(results[m[1]], result{pkg, e.Test, e.Action})
		}
	}
	for _, r := range results {
		slices.SortFunc(r, func(a, b result) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	}
	if runErr != nil && !red {
		return nil, fmt.Errorf("go test: %w\n%s%s", runErr, failedPackages, errs.String())
	}
	return results, lines.Err()
}
