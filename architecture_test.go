// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers says what packages may not import: arrows point one way. A rule ends
// in a slash where it forbids a whole tree.
var layers = map[string][]string{
	"internal/stream":    {"os", "net", "snug/"},
	"internal/freeset":   {"os", "net", "snug/"},
	"internal/allocator": {"os", "net", "snug/internal/shadow", "snug/internal/family", "snug/internal/setup", "snug/internal/cli"},
	"internal/bestfit":   {"os", "net", "snug/internal/shadow", "snug/internal/profile", "snug/internal/setup", "snug/internal/cli"},
	"internal/profile":   {"snug/internal/setup", "snug/internal/estimate", "snug/internal/plan", "snug/internal/cli"},
	"internal/setup":     {"snug/internal/profile", "snug/internal/simulate", "snug/internal/estimate", "snug/internal/plan", "snug/internal/cli"},
	"internal/shadow":    {"os", "net", "snug/internal/family", "snug/internal/setup", "snug/internal/allocator", "snug/internal/cli"},
	"internal/family":    {"os", "net", "snug/internal/allocator", "snug/internal/simulate", "snug/internal/cli"},
	"internal/simulate":  {"os", "net", "snug/internal/allocator", "snug/internal/estimate", "snug/internal/cli"},
	"internal/cost":      {"os", "net", "snug/internal/cli"},
	"internal/estimate":  {"os", "net", "snug/internal/cli"},
	"internal/plan":      {"os", "net", "snug/internal/cli"},
}

func TestArrowsPointOneWay(t *testing.T) {
	for folder, forbidden := range layers {
		files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				for _, no := range forbidden {
					if path == no || strings.HasPrefix(path, strings.TrimSuffix(no, "/")+"/") {
						t.Errorf("%s imports %s", name, path)
					}
				}
			}
		}
	}
}

// TestNothingIsCompiledAtTheStart keeps the start of the program free of regular
// expressions: internal/pattern has those that are compiled when they are used.
func TestNothingIsCompiledAtTheStart(t *testing.T) {
	files, _ := filepath.Glob("internal/*/*.go")
	deeper, _ := filepath.Glob("internal/*/*/*.go")
	seen := 0
	for _, name := range slices.Concat(files, deeper) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/config/change/") { // its two are short
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, d := range f.Decls {
			if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR && compiles(vars) {
				t.Errorf("%s compiles a regular expression before the program begins; use pattern.New", name)
			}
		}
	}
	if seen == 0 {
		t.Error("no file was looked at")
	}
}

// compiles says whether a declaration calls the regexp package, other than in
// functions of its own.
func compiles(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				pkg, _ := s.X.(*ast.Ident)
				found = found || pkg != nil && pkg.Name == "regexp"
			}
		}
		_, function := n.(*ast.FuncLit)
		return !function
	})
	return found
}
