// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outside lists, by package, the functions that reach this machine without an Env. Types and constants of os are
// harmless.
var outside = map[string][]string{
	"os":       {"Signal", "File", "PathListSeparator"}, // all but these
	"exec":     {},
	"signal":   {},
	"filepath": {"Base", "Clean", "Dir", "Ext", "IsAbs", "IsLocal", "Join", "Rel", "ToSlash"},
	"time":     {"Duration", "Time", "Millisecond", "Minute"},
}

// TestOutsideComesThroughEnv checks that only local.go accesses the machine itself.
func TestOutsideComesThroughEnv(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "local.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := x.X.(*ast.Ident)
			if !ok || from.Obj != nil { // a local variable with the package's name
				return true
			}
			allowed, watched := outside[from.Name]
			if watched && !slices.Contains(allowed, x.Sel.Name) {
				t.Errorf("%s uses %s.%s, which belongs in Env", name, from.Name, x.Sel.Name)
			}
			return true
		})
	}
}
