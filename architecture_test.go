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

// reading are the functions that read files without a bound, or wait for what is no
// file. Package files has others in their place.
var reading = []string{"os.Open", "os.ReadFile", "os.DirFS", "io.ReadAll", "fs.ReadFile", "os.OpenFile", "os.OpenRoot"}

// readersOfTheirOwn are the places that may call them, and why.
var readersOfTheirOwn = map[string]string{
	"internal/files":                  "the one reader",
	"internal/config/change/files.go": "makes files that are not there yet, and syncs folders",
	"internal/run/left.go":            "locks its own temporary folders",
	"internal/run/marked_linux.go":    "reads /proc",
	"internal/gpu/local":              "reads /sys",
	"internal/gpu/rocm":               "reads /sys",
	"internal/accuracy":               "reads this repository's measurements",
	"internal/profile/profiletest":    "reads this repository's recordings",
}

// TestOneReader wants every file to be opened by package files: a folder may hold a
// FIFO or a link to /dev/zero in the place of any of them.
func TestOneReader(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		own := exception(name)
		for _, call := range callsIn(t, name) {
			if own == "" {
				t.Errorf("%s calls %s; use package files, which has a bound and takes regular files only", name, call)
			}
			used[own] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range readersOfTheirOwn {
		if !used[name] {
			t.Errorf("%s is an exception and needs none", name)
		}
	}
}

// exception is the entry of readersOfTheirOwn that covers a file, "" where none does.
func exception(name string) string {
	name = filepath.ToSlash(name)
	for at := range readersOfTheirOwn {
		if name == at || strings.HasPrefix(name, at+"/") {
			return at
		}
	}
	return ""
}

// callsIn are the functions of reading that a file names.
func callsIn(t *testing.T, name string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok && slices.Contains(reading, pkg.Name+"."+s.Sel.Name) {
				out = append(out, pkg.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}
