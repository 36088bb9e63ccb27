// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"snug/internal/config/systems"
)

// TestNobodyAsksWhichSystem checks that special behavior of a config system is a field in its table: no code
// compares systems by address or name.
func TestNobodyAsksWhichSystem(t *testing.T) {
	seen := 0
	for _, folder := range []string{"internal/config", "internal/record", "internal/cli"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			seen++
			for _, at := range identityComparisons(t, name, nil) {
				t.Errorf("%s compares systems; make the special behavior a field of systems.System", at)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("no file was checked")
	}
}

// TestIdentityComparisonsAreFound checks that identityComparisons finds each kind of comparison.
func TestIdentityComparisonsAreFound(t *testing.T) {
	const source = `package a

func f(s *systems.System, b projects.Binding) bool {
	switch s {
	case &hydra, systems.Shell():
		return true
	}
	switch s.Name {
	case "hf":
		return false
	}
	_ = s.Name == other.Name && s.Rest == other && s.Title != ""
	_ = slices.Index(systems.All(), &plain)
	return s == &trl || &trl != s || s == systems.UnknownProgram() || b.System == "hf" || "TRL" == s.Title
}
`
	if got := identityComparisons(t, "a.go", source); len(got) != 9 {
		t.Errorf("found %d of 9 comparisons: %q", len(got), got)
	}
}

// identityComparisons returns the places in a file that compare a system with a table, or its name with a string.
func identityComparisons(t *testing.T, name string, source any) []string {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	compared := func(sides ...ast.Expr) {
		if slices.ContainsFunc(sides, isTable) || slices.ContainsFunc(sides, isName) && slices.ContainsFunc(sides, isText) {
			out = append(out, files.Position(sides[0].Pos()).String())
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared(n.X, n.Y)
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, value := range c.(*ast.CaseClause).List {
					if n.Tag != nil {
						compared(value, n.Tag)
					}
				}
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok && isNamed(fun.X, "slices") {
				for _, arg := range n.Args {
					compared(arg)
				}
			}
		}
		return true
	})
	return out
}

// isTable reports whether e is the address of a variable or a call in package systems that returns a table.
func isTable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		_, name := e.X.(*ast.Ident)
		_, selected := e.X.(*ast.SelectorExpr)
		return e.Op == token.AND && (name || selected)
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.SelectorExpr)
		return ok && isNamed(fun.X, "systems") && slices.Contains([]string{"Shell", "SnugFile", "UnknownProgram"}, fun.Sel.Name)
	}
	return false
}

// isName reports whether e is a field that names a system.
func isName(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Name", "Title", "System"}, s.Sel.Name)
}

// isText reports whether e is a string literal with the name or title of a system.
func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && slices.ContainsFunc(systems.All(), func(s *systems.System) bool {
		return lit.Value == strconv.Quote(s.Name) || lit.Value == strconv.Quote(s.Title)
	})
}

// isNamed reports whether e is an identifier with the given name.
func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
