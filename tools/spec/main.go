// Command spec lists every numbered invariant with the tests that hold it, and
// runs them.
//
// An invariant is a numbered line of a package's doc comment ("T1 Position never
// passes …"); its tests carry its number in their names (TestT1_…, FuzzT1_…). An
// invariant that no doc comment states or no test holds, and a test that names
// an invariant nobody states, fail the command, and so does a red test.
//
// Arguments are prefixes: `spec T` or `spec C4`; none is everything. `spec -page`
// runs nothing and writes doc/guarantees.md.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// promised is how many invariants each letter has at least: a number struck
// from a doc comment must not go unnoticed.
var promised = map[string]int{"T": 9, "C": 8, "B": 10, "S": 5, "L": 15}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-page" {
		if err := writePage(); err != nil {
			fmt.Fprintln(os.Stderr, "spec:", err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "spec:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(prefixes []string) (bool, error) {
	stated, err := statedInvariants(".")
	if err != nil {
		return false, err
	}
	results, err := runTests(prefixes)
	if err != nil {
		return false, err
	}

	names := map[string]bool{}
	for n := range stated {
		names[n] = true
	}
	for n := range results {
		names[n] = true
	}
	for letter, count := range promised {
		for i := 1; i <= count; i++ {
			names[fmt.Sprintf("%s%d", letter, i)] = true
		}
	}

	ok, tests := true, 0
	for _, n := range slices.SortedFunc(maps.Keys(names), compareNames) {
		if !selected(n, prefixes) {
			continue
		}
		text, isStated := stated[n]
		if !isStated {
			ok, text = false, "NOT STATED in any package's doc comment"
		}
		fmt.Printf("%-3s %s\n", n, text)
		if len(results[n]) == 0 {
			ok = false
			fmt.Printf("    NO TEST named Test%s_…\n", n)
		}
		for _, r := range results[n] {
			tests++
			ok = ok && r.status == "pass"
			fmt.Printf("    %-5s %s %s\n", r.status, r.pkg, r.test)
		}
	}
	verdict := "all hold"
	if !ok {
		verdict = "NOT ALL HOLD"
	}
	fmt.Printf("spec: %d tests: %s\n", tests, verdict)
	return ok, checkPage()
}

func selected(name string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// compareNames orders T2 before T10, and the letters as the design has them.
func compareNames(a, b string) int {
	const order = "TCBSL"
	if d := strings.IndexByte(order, a[0]) - strings.IndexByte(order, b[0]); d != 0 {
		return d
	}
	if d := len(a) - len(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}
