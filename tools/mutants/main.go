// Command mutants puts the known faults of this field back, one at a time, and
// demands that a test is red for each.
//
// A fault is a patch file in testdata/mutants. Its header says what the fault
// is, and which command must notice it:
//
//	what: the position is saved when it is read
//	why: who got it wrong, or what it costs
//	run: go test ./checkpoint -run 'TestC1_'
//
// "run: compiler" means that it must not compile; "impossible: reason", in
// place of run and diff, that the code leaves no place to put it; fault: is a
// free label. The command copies the committed tree to a temporary directory,
// sees every test it will rely on green there, and then for each patch applies
// it, runs its tests and takes it out again. It prints which test was red first
// for each fault, and fails if one was not caught, or does not apply or compile.
//
// With -pure it makes faults of its own in the packages named, by turning
// around conditions and constants, and lists those that no test notices.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
)

const patches = "testdata/mutants"

func main() {
	only := flag.String("only", "", "run the mutants whose file name (or place, with -pure) matches this regular expression")
	jobs := flag.Int("j", 1, "how many to run side by side, each in a copy of its own")
	trust := flag.Bool("trust", false, "leave out the run without any mutant that sees the tests green")
	verbose := flag.Bool("v", false, "show the output of each mutant's tests")
	pure := flag.Bool("pure", false, "make mutants of the packages named as arguments instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var ok bool
	var err error
	if *pure {
		ok, err = runPure(ctx, flag.Args(), *only, max(1, *jobs))
	} else {
		ok, err = run(ctx, *only, max(1, *jobs), *trust, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, jobs int, trust, verbose bool) (bool, error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(patches, "*.patch"))
	if err != nil {
		return false, err
	}
	var all []*mutant
	for _, file := range files {
		if !wanted.MatchString(filepath.Base(file)) {
			continue
		}
		m, err := parse(file)
		if err != nil {
			return false, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return false, fmt.Errorf("no mutant in %s matches %q: run it in the root of the module", patches, only)
	}
	trees, remove, err := plant(ctx, jobs)
	if err != nil {
		return false, err
	}
	defer remove()

	// Red means nothing unless the same tests are green without the mutant. How
	// long they take tells how soon a mutant may be taken to hang.
	greens := baseline(all)
	if trust {
		greens = nil
	}
	fails := make([]error, len(greens))
	var limits sync.Map // of time, by package
	spread(ctx, trees, len(greens), func(t *tree, i int) {
		r := t.test(ctx, greens[i], testTimeout)
		if r.kind == passed {
			limits.Store(greens[i].pkg, min(testTimeout, shortest+4*r.took))
		} else {
			fails[i] = fmt.Errorf("without any mutant %s is not green: %s\n%s", greens[i], r, r.output)
		}
	})
	for _, err := range fails {
		if err != nil {
			return false, err
		}
	}

	var printing sync.Mutex
	spread(ctx, trees, len(all), func(t *tree, i int) {
		m := all[i]
		m.try(ctx, t, &limits)
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintf(os.Stderr, "%-60s %s (%.1fs)\n", m.name, m.verdict, m.took.Seconds())
		if verbose {
			fmt.Fprintln(os.Stderr, m.output)
		}
	})
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return table(all), nil
}

// baseline joins what the mutants rely on into one command a package.
func baseline(all []*mutant) []command {
	patterns := map[string][]string{}
	for _, m := range all {
		for _, c := range m.commands {
			for p := range strings.SplitSeq(c.run, "|") {
				if !slices.Contains(patterns[c.pkg], p) {
					patterns[c.pkg] = append(patterns[c.pkg], p)
				}
			}
		}
	}
	var greens []command
	for _, pkg := range slices.Sorted(maps.Keys(patterns)) {
		greens = append(greens, command{pkg, strings.Join(patterns[pkg], "|")})
	}
	return greens
}

// spread calls f for 0 to n-1, side by side as there are trees.
func spread(ctx context.Context, trees []*tree, n int, f func(t *tree, i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for _, t := range trees {
		workers.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					f(t, i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// table prints what became of each, and whether that is as it should be.
func table(all []*mutant) bool {
	caught, uncaught, impossible, broken := 0, 0, 0, 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "bug\t| caught by")
	for _, m := range all {
		switch {
		case m.impossible != "":
			impossible++
			fmt.Fprintf(w, "%s\t| impossible: %s\n", m.what, m.impossible)
			continue
		case m.err != nil:
			broken++
		case m.caught:
			caught++
		default:
			uncaught++
		}
		fmt.Fprintf(w, "%s\t| %s\n", m.what, m.verdict)
	}
	_ = w.Flush()
	for _, m := range all {
		if m.err != nil {
			fmt.Printf("%s: %v\n", m.name, m.err)
		}
	}
	fmt.Printf("mutants: %d caught %d uncaught %d", len(all)-impossible, caught, uncaught)
	if impossible > 0 {
		fmt.Printf(" impossible %d", impossible)
	}
	if broken > 0 {
		fmt.Printf(" broken %d", broken)
	}
	fmt.Println()
	return uncaught == 0 && broken == 0
}
