// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layer is what one package imports: packages of this repository, and from outside os, net and external modules.
type layer struct{ own, outside []string }

func (l layer) row(name string) string {
	cell := func(list []string) string {
		if len(list) == 0 {
			return "–"
		}
		return strings.Join(list, ", ")
	}
	return "| " + name + " | " + cell(l.own) + " | " + cell(l.outside) + " |"
}

// TestLayers checks the imports of each package against the table in ARCHITECTURE.md.
func TestLayers(t *testing.T) {
	order, allowed := table(t)
	found := imports(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(order, name) {
			t.Errorf("ARCHITECTURE.md has no row for %s; it would be\n%s", name, found[name].row(name))
		}
	}
	for i, name := range order {
		got, is := found[name]
		if !is {
			t.Errorf("ARCHITECTURE.md has a row for %s, which is not a package", name)
			continue
		}
		if got.row(name) != allowed[name].row(name) {
			t.Errorf("the imports of %s differ from its row in ARCHITECTURE.md:\ngot  %s\nwant %s", name, got.row(name), allowed[name].row(name))
		}
		for _, of := range allowed[name].own {
			if !slices.Contains(order[:i], of) {
				t.Errorf("%s imports %s, which is below it in the table; imports must point upwards", name, of)
			}
		}
	}
}

// table returns the rows of the table in ARCHITECTURE.md, and their order.
func table(t *testing.T) (order []string, rows map[string]layer) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n| package | imports | effects and modules |\n")
	rows = map[string]layer{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 {
			break
		}
		name := strings.TrimPrefix(cells[0], "| ")
		if name == "---" {
			continue
		}
		order = append(order, name)
		rows[name] = layer{list(cells[1]), list(strings.TrimSuffix(cells[2], " |"))}
	}
	if len(order) < 30 {
		t.Fatalf("the table in ARCHITECTURE.md has only %d rows", len(order))
	}
	return order, rows
}

func list(cell string) []string {
	if cell == "–" {
		return nil
	}
	return strings.Split(cell, ", ")
}

// imports returns the imports of every package on any operating system, without tests.
func imports(t *testing.T) map[string]layer {
	t.Helper()
	found := map[string]layer{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := shortName(path.Join("snug", filepath.ToSlash(filepath.Dir(name))))
		l := found[pkg]
		for _, imp := range f.Imports {
			of, _ := strconv.Unquote(imp.Path.Value)
			l.add(of)
		}
		found[pkg] = l
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// add records an import if it belongs in the table.
func (l *layer) add(of string) {
	var name string
	to := &l.outside
	first, _, _ := strings.Cut(of, "/")
	switch {
	case first == "snug":
		to, name = &l.own, shortName(of)
	case first == "os":
		name = "os"
	case of == "net" || strings.HasPrefix(of, "net/http") || of == "net/rpc":
		name = "net"
	case strings.Contains(first, "."):
		name = module(of)
	default: // the rest of the standard library
		return
	}
	if !slices.Contains(*to, name) {
		*to = append(*to, name)
		slices.SortFunc(*to, outermost)
	}
}

// outermost sorts os and net before modules, which have a dot in their paths.
func outermost(a, b string) int {
	if x, y := strings.Contains(a, "."), strings.Contains(b, "."); x != y {
		return map[bool]int{true: 1, false: -1}[x]
	}
	return strings.Compare(a, b)
}

// shortName returns a package's name in the table.
func shortName(path string) string {
	for _, prefix := range []string{"snug/internal/", "snug/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return rest
		}
	}
	return path
}

// module returns the path of the module that a package belongs to, as in go.mod.
func module(of string) string {
	parts := strings.Split(of, "/")
	n := 3
	switch {
	case len(parts) > 3 && strings.HasPrefix(parts[3], "v"):
		n = 4
	case parts[0] == "modernc.org" || parts[0] == "pgregory.net":
		n = 2
	}
	return strings.Join(parts[:min(n, len(parts))], "/")
}

// forTests are the modules that only tests use.
var forTests = []string{"github.com/rogpeppe/go-internal", "github.com/google/go-cmp", "pgregory.net/rapid", "golang.org/x/tools"}

// TestModulesOfTests checks that modules used only by tests are not linked into the program.
func TestModulesOfTests(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".", "./cmd/snug").Output()
	if err != nil {
		t.Skipf("no go command is available: %v", err)
	}
	linked := strings.Fields(string(out))
	for _, m := range forTests {
		if slices.Contains(linked, m) {
			t.Errorf("%s is only for tests, but is linked into the program", m)
		}
	}
	if !slices.Contains(linked, "github.com/spf13/cobra") {
		t.Errorf("only %d modules were found", len(linked))
	}
}
