package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

var numbered = regexp.MustCompile(`^\s*(?:- )?([TCBSL][0-9]+)[.:]? +(\S.*)$`)

// statedInvariants reads the numbered lines of every package comment below dir.
func statedInvariants(dir string) (map[string]string, error) {
	stated := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.Name() != "doc.go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		for n, text := range numberedLines(file.Doc) {
			if _, ok := stated[n]; !ok {
				stated[n] = text
			}
		}
		return nil
	})
	return stated, err
}

func numberedLines(doc *ast.CommentGroup) map[string]string {
	found := map[string]string{}
	last := ""
	for line := range strings.Lines(doc.Text()) {
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
