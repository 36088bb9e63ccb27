// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// indexPart matches a link to a file, or a name in code style.
var indexPart = regexp.MustCompile("\\]\\(([^)]+)\\)|`([^`]+)`")

// TestIndex checks the section "Where to change what" in ARCHITECTURE.md: each file exists, and each name in code
// style after a link is declared in that file.
func TestIndex(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Where to change what\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows, seen := 0, map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || strings.HasPrefix(line, "| what |") || strings.HasPrefix(line, "| --- |") {
			continue
		}
		rows++
		if seen[cells[0]] {
			t.Errorf("two rows say %q", strings.TrimPrefix(cells[0], "| "))
		}
		seen[cells[0]] = true
		checkPlaces(t, line, cells[1])
	}
	if rows < 90 {
		t.Errorf("the index has %d rows, want at least 90", rows)
	}
}

// checkPlaces checks the files and names in one row. A link to a Go file needs at least one name.
func checkPlaces(t *testing.T, row, places string) {
	file, names := "", 0
	end := func() {
		if strings.HasSuffix(file, ".go") && names == 0 {
			t.Errorf("%s is named without a declaration in %s", file, row)
		}
	}
	for _, part := range indexPart.FindAllStringSubmatch(places, -1) {
		if part[2] != "" {
			names++
			if !declaredIn(t, file)[part[2]] {
				t.Errorf("%s does not declare %s, which this row names: %s", file, part[2], row)
			}
			continue
		}
		end()
		file, names = part[1], 0
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%v, in %s", err, row)
		}
	}
	end()
	if file == "" {
		t.Errorf("no file in %s", row)
	}
}

// otherDeclaration matches a declaration in a file that is not Go: a function, a class, a variable or a key.
var otherDeclaration = regexp.MustCompile(`(?m)^\s*(?:def |class |const |(?:export )?(?:async )?function )?(\w+)(?:\(|:|\s*=)`)

// declaredIn returns the names that a file declares; a method is Type.name.
func declaredIn(t *testing.T, name string) map[string]bool {
	out := map[string]bool{}
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return out
	}
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".go") {
		for _, m := range otherDeclaration.FindAllStringSubmatch(string(src), -1) {
			out[m[1]] = true
		}
		return out
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				declareSpec(out, s)
			}
		}
	}
	return out
}

// declareSpec adds the declared names of constants, variables or a type.
func declareSpec(out map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			out[n.Name] = true
		}
	case *ast.TypeSpec:
		out[s.Name.Name] = true
	}
}

// receiver returns a method's type followed by a dot, or "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name + "."
}
