package main

import (
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pagePath holds what the package comments promise and what holds it, for
// readers. It is written by `spec -page` and compared by every other run, so
// that it cannot drift from the code.
const pagePath = "doc/guarantees.md"

const pageHead = `# Guarantees

Every numbered promise, what is not promised beside it, and the tests that hold it. This page is written by
` + "`go run ./tools/spec -page`" + ` from the package comments and the names of the tests; ` + "`make spec`" + ` runs those tests, and fails
where a promise has no test or this page differs from the code.
`

// page renders the guarantees of every package below dir.
func page(dir string) (string, error) {
	held, err := testFiles(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(pageHead)
	err = eachPackageComment(dir, func(path, text string) {
		promises := numberedLines(text)
		if len(promises) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", filepath.ToSlash(filepath.Dir(path)))
		for _, n := range slices.SortedFunc(maps.Keys(promises), compareNames) {
			fmt.Fprintf(&b, "- **%s** %s\n  Held by %s.\n", n, promises[n], strings.Join(held[n], ", "))
		}
		if not := section(text, "Non-guarantees"); not != "" {
			fmt.Fprintf(&b, "\n**Not promised.** %s", not)
		}
	})
	return b.String(), err
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)([TCBSL][0-9]+)_\w*)\(`)

// testFiles lists the tests of each invariant as links from pagePath.
func testFiles(dir string) (map[string][]string, error) {
	held := map[string][]string{}
	err := eachFile(dir, func(path string) error {
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			held[m[2]] = append(held[m[2]], fmt.Sprintf("[%s](../%s)", m[1], filepath.ToSlash(path)))
		}
		return err
	})
	return held, err
}

// eachFile calls f with every file below dir but those of other programs, whose
// folders come and go while this one walks: git's, pip's and npm's.
func eachFile(dir string, f func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return f(path)
		case path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		}
		return nil
	})
}

// eachPackageComment calls f with every doc.go's package comment, in the order
// of their first invariant's letter, then of their paths.
func eachPackageComment(dir string, f func(path, text string)) error {
	type found struct{ path, text, first string }
	var all []found
	err := eachFile(dir, func(path string) error {
		if filepath.Base(path) != "doc.go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		one := found{path: path, text: file.Doc.Text()}
		if names := slices.SortedFunc(maps.Keys(numberedLines(one.text)), compareNames); len(names) > 0 {
			one.first = names[0]
		}
		all = append(all, one)
		return nil
	})
	slices.SortStableFunc(all, func(a, b found) int {
		if a.first == "" || b.first == "" {
			return len(a.first) - len(b.first)
		}
		return compareNames(a.first, b.first)
	})
	for _, one := range all {
		f(one.path, one.text)
	}
	return err
}

// section renders what stands under a heading of a package comment.
func section(text, heading string) string {
	var parser comment.Parser
	whole := parser.Parse(text)
	part := &comment.Doc{Links: whole.Links}
	inside := false
	for _, block := range whole.Content {
		if h, ok := block.(*comment.Heading); ok {
			inside = len(h.Text) == 1 && h.Text[0] == comment.Plain(heading)
			continue
		}
		if inside {
			part.Content = append(part.Content, block)
		}
	}
	printer := comment.Printer{DocLinkURL: func(l *comment.DocLink) string { return l.DefaultURL("https://pkg.go.dev") }}
	return string(printer.Markdown(part))
}

// checkPage compares the committed page with what the code says now.
func checkPage() error {
	want, err := page(".")
	if err != nil {
		return err
	}
	got, err := os.ReadFile(pagePath)
	if err != nil || string(got) != want {
		return fmt.Errorf("%s is not what the code says: run go run ./tools/spec -page", pagePath)
	}
	return nil
}

func writePage() error {
	text, err := page(".")
	if err != nil {
		return err
	}
	return os.WriteFile(pagePath, []byte(text), 0o644)
}
