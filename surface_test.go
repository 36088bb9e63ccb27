// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// parsed returns the parsed files of this package, without tests.
func parsed(t *testing.T) (set *token.FileSet, files []*ast.File) {
	t.Helper()
	set = token.NewFileSet()
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return set, files
}

// TestNoInternalTypeIsExported checks that importers of this package can name every type in its API.
func TestNoInternalTypeIsExported(t *testing.T) {
	set, files := parsed(t)
	conf := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	pkg, err := conf.Check("snug", set, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := walker{t: t, seen: map[types.Type]bool{}}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			w.object(name, obj)
		}
	}
	if w.named < 30 {
		t.Errorf("only %d types were checked", w.named)
	}
}

// walker visits all exported declarations.
type walker struct {
	t     *testing.T
	seen  map[types.Type]bool
	named int
}

func (w *walker) object(at string, obj types.Object) {
	if alias, is := obj.(*types.TypeName); is && alias.IsAlias() {
		w.t.Errorf("%s is an alias; go doc does not show its target", at)
	}
	w.typ(at, obj.Type())
}

func (w *walker) typ(at string, typ types.Type) {
	if w.seen[typ] {
		return
	}
	w.seen[typ] = true
	switch x := types.Unalias(typ).(type) {
	case *types.Named:
		w.name(at, x)
	case *types.Pointer:
		w.typ(at, x.Elem())
	case *types.Slice:
		w.typ(at, x.Elem())
	case *types.Array:
		w.typ(at, x.Elem())
	case *types.Chan:
		w.typ(at, x.Elem())
	case *types.Map:
		w.typ(at, x.Key())
		w.typ(at, x.Elem())
	case *types.Signature:
		w.tuple(at, x.Params())
		w.tuple(at, x.Results())
	case *types.Struct:
		w.fields(at, x)
	case *types.Interface:
		for m := range x.Methods() {
			w.typ(at+"."+m.Name(), m.Type())
		}
	}
}

func (w *walker) tuple(at string, x *types.Tuple) {
	for v := range x.Variables() {
		w.typ(at+"("+v.Name()+")", v.Type())
	}
}

// fields visits the fields that an importer can use.
func (w *walker) fields(at string, x *types.Struct) {
	for f := range x.Fields() {
		if f.Exported() {
			w.typ(at+"."+f.Name(), f.Type())
		}
	}
}

// name checks a named type: it must not be internal, and if it belongs to this package, neither may the types it
// uses.
func (w *walker) name(at string, x *types.Named) {
	pkg := x.Obj().Pkg()
	if pkg == nil {
		return
	}
	if strings.Contains(pkg.Path(), "internal/") {
		w.t.Errorf("%s is a %s, which importers cannot name", at, x)
	}
	if pkg.Path() != "snug" {
		return
	}
	w.named++
	w.typ(at, x.Underlying())
	for m := range x.Methods() {
		if m.Exported() {
			w.typ(at+"."+m.Name(), m.Type())
		}
	}
}

// TestEverythingIsDocumented checks that each exported name has a doc comment.
func TestEverythingIsDocumented(t *testing.T) {
	set, files := parsed(t)
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && !hidden(d.Recv) && !strings.HasPrefix(d.Doc.Text(), d.Name.Name+" ") {
					t.Errorf("%s: the comment of %s does not begin with its name", set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				undocumented(t, set, d)
			}
		}
	}
}

// hidden reports whether a method belongs to an unexported type.
func hidden(receiver *ast.FieldList) bool {
	if receiver == nil {
		return false
	}
	of := receiver.List[0].Type
	if star, is := of.(*ast.StarExpr); is {
		of = star.X
	}
	name, is := of.(*ast.Ident)
	return is && !name.IsExported()
}

func undocumented(t *testing.T, set *token.FileSet, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && !strings.HasPrefix(d.Doc.Text(), s.Name.Name+" ") {
				t.Errorf("%s: the comment of %s does not begin with its name", set.Position(s.Pos()), s.Name.Name)
			}
		case *ast.ValueSpec:
			if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				t.Errorf("%s: %s has no comment", set.Position(s.Pos()), s.Names[0].Name)
			}
		}
	}
}
