package main

import (
	"regexp"
	"strings"
)

var numbered = regexp.MustCompile(`^\s*(?:- )?([TCBSL][0-9]+)[.:]? +(\S.*)$`)

// statedInvariants reads the numbered lines of every package comment below dir.
func statedInvariants(dir string) (map[string]string, error) {
	stated := map[string]string{}
	err := eachPackageComment(dir, func(_, text string) {
		for n, promise := range numberedLines(text) {
			if _, ok := stated[n]; !ok {
				stated[n] = promise
			}
		}
	})
	return stated, err
}

func numberedLines(text string) map[string]string {
	found := map[string]string{}
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := numbered.FindStringSubmatch(line); m != nil {
			last = m[1]
			found[last] = m[2]
			continue
		}
		// A wrapped line goes on where the numbered one ended.
		if t := strings.TrimSpace(line); last != "" && t != "" && strings.HasPrefix(line, " ") && !strings.HasPrefix(t, "- ") {
			found[last] += " " + t
		} else {
			last = ""
		}
	}
	return found
}
