package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	pureTimeout = 40 * time.Second
	pureSwitch  = "ACKGATE_MUTANT" // the environment variable that turns a site on
)

// runPure turns around every condition, sum and constant of the packages, one at
// a time, and lists those that their tests do not notice.
//
// All of a package's mutants are compiled at once, each behind a switch that is
// read when the test starts: to build each alone would take twenty times as long.
func runPure(ctx context.Context, packages []string, only string, jobs int) (bool, error) {
	if len(packages) == 0 {
		packages = []string{"./tracker", "./shards", "./lambdaids", "./checkpoint/keymap"}
	}
	trees, remove, err := plant(ctx, 1)
	if err != nil {
		return false, err
	}
	defer remove()
	wanted, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	explained, err := readExplained(filepath.Join(trees[0].dir, "testdata", "mutants", "survivors.txt"))
	if err != nil {
		return false, err
	}
	ok := true
	for _, pkg := range packages {
		survivors, err := purePackage(ctx, trees[0], pkg, wanted, explained, jobs)
		if err != nil {
			return false, err
		}
		ok = ok && survivors == 0
	}
	return ok, nil
}

// readExplained reads the survivors that were gone through: from what site
// prints of them, without its line, to the reason why no test can see them.
func readExplained(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	explained := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, why, ok := strings.Cut(line, " -- ")
		if !ok || why == "" {
			return nil, fmt.Errorf("%s:%d: no ' -- reason' behind the mutant", file, n+1)
		}
		explained[what] = why
	}
	return explained, nil
}

// purePackage returns how many survived without an explanation.
func purePackage(
	ctx context.Context, t *tree, pkg string, wanted *regexp.Regexp, explained map[string]string, jobs int,
) (survivors int, err error) {
	dir := filepath.Join(t.dir, filepath.FromSlash(pkg))
	binary := filepath.Join(filepath.Dir(t.dir), filepath.Base(pkg)+".test")
	sites, err := compileAll(ctx, t, dir, pkg, binary)
	if err != nil {
		return 0, err
	}
	if out, err := runSite(ctx, binary, dir, 0); err != nil {
		return 0, fmt.Errorf("%s is not green without a mutant: %w\n%s", pkg, err, out)
	}
	var (
		mu                     sync.Mutex
		killed, known, unknown int
		next                   = make(chan site)
		group                  sync.WaitGroup
	)
	folder := strings.TrimPrefix(pkg, "./") + "/"
	for range jobs {
		group.Go(func() {
			for s := range next {
				_, err := runSite(ctx, binary, dir, s.number)
				mu.Lock()
				why, ok := explained[folder+s.file+": "+s.change]
				switch {
				case err != nil:
					killed++
				case ok:
					known++
					fmt.Printf("explained: %s%s: %s\n", folder, s, why)
				default:
					unknown++
					fmt.Printf("survived: %s%s\n", folder, s)
				}
				mu.Unlock()
			}
		})
	}
	for _, s := range sites {
		if ctx.Err() == nil && wanted.MatchString(s.String()) {
			next <- s
		}
	}
	close(next)
	group.Wait()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	fmt.Printf("pure %s: %d mutants, %d killed, %d explained, %d survived\n", pkg, killed+known+unknown, killed, known, unknown)
	return unknown, nil
}

// compileAll writes the package with all sites and compiles its tests. A site
// that the compiler refuses, as where a constant is wanted, is left out.
func compileAll(ctx context.Context, t *tree, dir, pkg, binary string) ([]site, error) {
	originals, err := sources(dir)
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{} // file:line
	for range 20 {
		sites, err := plantSites(dir, originals, refused)
		if err != nil {
			return nil, err
		}
		out, err := t.command(ctx, "test", "-c", "-vet=off", "-gcflags=-e", "-o", binary, pkg).CombinedOutput()
		if err == nil {
			return sites, nil
		}
		found := false
		for _, m := range errorLine.FindAllStringSubmatch(string(out), -1) {
			key := filepath.Base(m[1]) + ":" + m[2]
			found = found || !refused[key]
			refused[key] = true
		}
		if !found {
			return nil, fmt.Errorf("%s with its mutants does not compile: %w\n%s", pkg, err, out)
		}
	}
	return nil, errors.New("the mutants of " + pkg + " do not come to compile")
}

var errorLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

func sources(dir string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		if out[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func runSite(ctx context.Context, binary, dir string, number int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pureTimeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.timeout", pureTimeout.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RAPID_SEED=1", "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=1ms", pureSwitch+"="+strconv.Itoa(number))
	return cmd.CombinedOutput()
}
