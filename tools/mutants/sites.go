package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is one place that can be turned around.
type site struct {
	number int // from 1
	file   string
	line   int
	change string
}

func (s site) String() string { return fmt.Sprintf("%s:%d: %s", s.file, s.line, s.change) }

// edit replaces the source from one offset to another.
type edit struct {
	from, to int
	before   string // written in front of what stays between from and to
	after    string
	change   string
}

// plantSites writes the package's files with a switch around every site, and
// returns the sites. What is inside a site that was taken is left alone, so that
// edits never overlap; lines stay where they are.
func plantSites(dir string, originals map[string][]byte, refused map[string]bool) ([]site, error) {
	var sites []site
	name := ""
	for _, file := range slices.Sorted(maps.Keys(originals)) {
		src := originals[file]
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		name = tree.Name.Name
		line := func(at int) int { return 1 + strings.Count(string(src[:at]), "\n") }
		edits := findSites(fset, tree, src)
		edits = slices.DeleteFunc(edits, func(e edit) bool { return refused[fmt.Sprintf("%s:%d", file, line(e.from))] })
		var out strings.Builder
		emit(&out, src, edits, func(e edit) int {
			sites = append(sites, site{len(sites) + 1, file, line(e.from), e.change})
			return len(sites)
		})
		if err := os.WriteFile(filepath.Join(dir, file), []byte(out.String()), 0o644); err != nil {
			return nil, err
		}
	}
	return sites, os.WriteFile(filepath.Join(dir, "zz_mutants.go"), []byte(fmt.Sprintf(switches, name, pureSwitch)), 0o644)
}

const switches = `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv(%q))

func mutated(n int) bool { return n == mutantOn }

func mutant[T any](n int, is, other T) T {
	if n == mutantOn {
		return other
	}
	return is
}
`

// emit writes src with the edits, which nest but never overlap otherwise.
func emit(out *strings.Builder, src []byte, edits []edit, number func(edit) int) {
	type mark struct {
		at, order int
		text      string
	}
	var marks []mark
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to // the outer one first
	})
	for i, e := range edits {
		n := fmt.Sprint(number(e))
		marks = append(marks, mark{e.from, i, strings.ReplaceAll(e.before, "$", n)})
		marks = append(marks, mark{e.to, -i - 1, strings.ReplaceAll(e.after, "$", n)})
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order // ends before beginnings, inner ends first
	})
	at := 0
	for _, m := range marks {
		out.Write(src[at:m.at])
		out.WriteString(m.text)
		at = m.at
	}
	out.Write(src[at:])
}

var turned = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

// findSites looks through the bodies of functions.
func findSites(fset *token.FileSet, file *ast.File, src []byte) []edit {
	var edits []edit
	off := func(p token.Pos) int { return fset.Position(p).Offset }
	text := func(n ast.Node) string { return string(src[off(n.Pos()):off(n.End())]) }
	add := func(n ast.Node, before, after, change string) {
		if !strings.Contains(text(n), "\n") || strings.Contains(change, "negated") {
			edits = append(edits, edit{off(n.Pos()), off(n.End()), before, after, change})
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl, *ast.FuncLit:
			_, lit := n.(*ast.FuncLit)
			return lit
		case *ast.IfStmt:
			add(n.Cond, "(mutated($) != (", "))", "condition negated: "+text(n.Cond))
		case *ast.BinaryExpr:
			other, ok := turned[n.Op]
			if ok && simple(n.X) && simple(n.Y) {
				turnedText := text(n.X) + " " + other.String() + " " + text(n.Y)
				add(n, "mutant($, ", ", "+turnedText+")", text(n)+" becomes "+turnedText)
			}
		case *ast.BlockStmt:
			dropStatements(n.List, text, add)
		case *ast.CaseClause:
			dropStatements(n.Body, text, add)
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if id, ok := r.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
					add(r, "(mutated($) != ", ")", "return "+id.Name+" turned around")
				}
			}
		}
		return true
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "check" {
			continue // reports for people, and what tests call
		}
		ast.Inspect(f.Body, visit)
	}
	return edits
}

// dropStatements makes sites of statements that can be left out.
func dropStatements(list []ast.Stmt, text func(ast.Node) string, add func(ast.Node, string, string, string)) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			t := text(s)
			if strings.HasSuffix(t, "ock()") || strings.HasPrefix(t, "panic(") {
				continue // it would only hang, or is there for misuse
			}
		case *ast.IncDecStmt:
		case *ast.AssignStmt:
			if blank, ok := s.Lhs[0].(*ast.Ident); s.Tok == token.DEFINE || ok && blank.Name == "_" {
				continue
			}
		default:
			continue
		}
		add(s, "if !mutated($) { ", " }", "left out: "+text(s))
	}
}

// simple says that an operand can be evaluated twice.
func simple(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, named := n.Fun.(*ast.Ident)
			ok = ok && named && (id.Name == "len" || id.Name == "cap" || id.Name == "int" || id.Name == "uint64")
		case *ast.FuncLit, *ast.UnaryExpr, *ast.TypeAssertExpr, *ast.BinaryExpr:
			ok = false // a nested one is a site of its own
		}
		return ok
	})
	return ok
}
