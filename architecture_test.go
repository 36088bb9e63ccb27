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

	"snug/internal/family"
)

// layers says what packages may not import: arrows point one way. A rule ends
// in a slash where it forbids a whole tree.
var layers = map[string][]string{
	"internal/stream":    {"os", "net", "snug/"},
	"internal/freeset":   {"os", "net", "snug/"},
	"internal/kernel":    {"os", "net", "snug/"},
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

// namesModels are files that may name a model type: what they say is about one
// trainer or one measured run, not about models.
var namesModels = []string{
	"internal/config/fields.go",      // nanotron's own model is Llama
	"internal/config/nanogpt.go",     // its own script
	"internal/cli/optimize_today.go", // the example that is shown in an empty folder
	"internal/run/launcher.go",       // a package manager of that name
	"internal/plan/choices/runs.go",  // which runs were measured
}

// TestOneTableOfModels wants nobody but family to know model types by name.
func TestOneTableOfModels(t *testing.T) {
	known := family.Known()
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if strings.HasPrefix(path, "internal/family/") || slices.Contains(namesModels, filepath.ToSlash(path)) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, _ := strconv.Unquote(lit.Value); slices.Contains(known, text) {
					t.Errorf("%s names %q: ask family.FactsOf", path, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
