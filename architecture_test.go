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

// namesModels lists the files that may name a model type, because they are about one trainer or one measured run.
var namesModels = []string{
	"internal/config/meaning/fields.go",     // nanotron's own model is Llama
	"internal/config/systems/nanogpt.go",    // nanoGPT's own script
	"internal/config/systems/olmo.go",       // OLMo's trainer has its own model
	"internal/config/systems/gpt_neox.go",   // GPT-NeoX has its own model, which is Llama's if its norms are
	"internal/config/meaning/own_model.go",  // the same
	"internal/cli/optimize_today.go",        // the example shown in an empty folder
	"internal/run/launcher.go",              // a package manager with the same name
	"internal/web/openapi.go",               // examples in the description of the API
	"internal/config/branches/arguments.go", // a variable's name
	"internal/plan/choices/runs.go",         // the measured runs
}

// TestOneTableOfModels checks that only package family mentions model types by name.
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
					t.Errorf("%s names %q; use family.FactsOf", path, text)
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

// TestNothingIsCompiledAtTheStart checks that no regular expression is compiled at program start. Package
// internal/pattern compiles them on first use.
func TestNothingIsCompiledAtTheStart(t *testing.T) {
	files, _ := filepath.Glob("internal/*/*.go")
	deeper, _ := filepath.Glob("internal/*/*/*.go")
	seen := 0
	for _, name := range slices.Concat(files, deeper) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, d := range f.Decls {
			if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR && compiles(vars) {
				t.Errorf("%s compiles a regular expression at program start; use pattern.New", name)
			}
		}
	}
	if seen == 0 {
		t.Error("no file was checked")
	}
}

// compiles reports whether a declaration calls the regexp package, except inside a function literal.
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

// reading lists the functions that read files without a limit, or block on something that is not a file.
// Package files has replacements.
var reading = []string{"os.Open", "os.ReadFile", "os.DirFS", "io.ReadAll", "fs.ReadFile", "os.OpenFile", "os.OpenRoot"}

// readersOfTheirOwn lists the places that may call the functions in reading, with the reason.
var readersOfTheirOwn = map[string]string{
	"internal/files":                 "the one reader",
	"internal/config/change":         "opens a project's folder as an os.Root, with bounds of its own",
	"internal/revision":              "writes the files of a git revision below an os.Root of its own",
	"internal/run/left.go":           "locks its own temporary folders",
	"internal/run/marked_linux.go":   "reads /proc",
	"internal/run/stat_linux.go":     "reads /proc",
	"internal/run/terminal_linux.go": "opens the terminal",
	"internal/run/work.go":           "makes its own temporary folders",
	"internal/crash":                 "stops other programs, in tests",
	"internal/gpu/local":             "reads /sys",
	"internal/gpu/rocm":              "reads /sys",
	"internal/accuracy":              "reads this repository's measurements",
	"internal/profile/profiletest":   "reads this repository's recordings",
}

// TestOneReader checks that only package files opens files, because any file in a folder may be a FIFO or a link to
// /dev/zero.
func TestOneReader(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		own := exception(name)
		for _, call := range callsIn(t, name) {
			if own == "" {
				t.Errorf("%s calls %s; use package files, which limits the size and accepts only regular files", name, call)
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
			t.Errorf("%s is listed as an exception but does not need it", name)
		}
	}
}

// exception returns the entry of readersOfTheirOwn that covers a file, or "".
func exception(name string) string {
	name = filepath.ToSlash(name)
	for at := range readersOfTheirOwn {
		if name == at || strings.HasPrefix(name, at+"/") {
			return at
		}
	}
	return ""
}

// callsIn returns the functions in reading that a file mentions.
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
