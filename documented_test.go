// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackagesAreDocumented checks that every package has a comment, and so does every exported name and field in it.
// Fields without a blank line between them may share a comment, and a type's comment may describe its fields by name.
func TestPackagesAreDocumented(t *testing.T) {
	set := token.NewFileSet()
	comments := map[string]bool{} // by folder
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git"):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		comments[filepath.Dir(name)] = comments[filepath.Dir(name)] || f.Doc != nil
		c := commentCheck{t, set}
		for _, d := range f.Decls {
			c.declaration(d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, has := range comments {
		if !has {
			t.Errorf("package %s has no comment", folder)
		}
	}
	if len(comments) < 60 {
		t.Errorf("only %d packages were checked", len(comments))
	}
}

// commentCheck reports exported names without a comment.
type commentCheck struct {
	t   *testing.T
	set *token.FileSet
}

func (c commentCheck) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !hidden(d.Recv) {
			c.need(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				c.need(s.Name, d.Doc, s.Doc, s.Comment)
				if s.Name.IsExported() {
					c.fields(s.Type, d.Doc.Text()+s.Doc.Text())
				}
			case *ast.ValueSpec:
				c.need(s.Names[0], d.Doc, s.Doc, s.Comment)
			}
		}
	}
}

func (c commentCheck) need(name *ast.Ident, comments ...*ast.CommentGroup) {
	for _, g := range comments {
		if g != nil {
			return
		}
	}
	if name.IsExported() {
		c.t.Errorf("%s: %s has no comment", c.set.Position(name.Pos()), name.Name)
	}
}

// fields checks the fields of a struct, or the methods of an interface; about is the comment of the type.
func (c commentCheck) fields(of ast.Expr, about string) {
	var list *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		return
	}
	var shared *ast.CommentGroup // the comment of the fields directly above
	last := 0
	for _, f := range list.List {
		if c.set.Position(f.Pos()).Line > last+1 {
			shared = nil
		}
		if f.Doc != nil {
			shared = f.Doc
		}
		last = c.set.Position(f.End()).Line
		for _, name := range f.Names {
			if !regexp.MustCompile(`\b` + name.Name + `s?\b`).MatchString(about) {
				c.need(name, shared, f.Comment)
			}
		}
	}
}
