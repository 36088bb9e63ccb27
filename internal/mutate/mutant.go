// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// mutant is one small mistake: a range of bytes in a file, replaced by others.
type mutant struct {
	file       string
	line       int
	start, end int
	text       string // the replacement
	what       string // a description of the change
}

// apply returns the file with the mistake.
func (m mutant) apply(source []byte) []byte {
	out := append([]byte(nil), source[:m.start]...)
	out = append(out, m.text...)
	return append(out, source[m.end:]...)
}

// swaps maps operators to the ones that they are often confused with.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL,
}

// finder collects the mutants of one file.
type finder struct {
	name   string
	source []byte
	fset   *token.FileSet
	found  []mutant
}

// mutantsOf returns all mutants of a file, in source order.
func mutantsOf(name string, source []byte) ([]mutant, error) {
	f := finder{name: name, source: source, fset: token.NewFileSet()}
	tree, err := parser.ParseFile(f.fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			ast.Inspect(fn.Body, f.visit)
		}
	}
	return f.found, nil
}

// visit adds the mutants of one node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if to, ok := swaps[n.Op]; ok {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String(), fmt.Sprintf("%s becomes %s", n.Op, to))
		}
	case *ast.BasicLit:
		if i, err := strconv.ParseUint(n.Value, 10, 32); err == nil && n.Kind == token.INT {
			f.add(n.Pos(), n.End(), strconv.FormatUint(i+1, 10), fmt.Sprintf("%d becomes %d", i, i+1))
		}
	case *ast.IfStmt:
		f.add(n.Cond.Pos(), n.Cond.End(), "!("+f.text(n.Cond)+")", "the condition is negated")
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	}
	return true
}

// drop adds mutants that each omit one statement.
func (f *finder) drop(list []ast.Stmt) {
	for _, s := range list {
		if does(s) {
			f.add(s.Pos(), s.End(), "", "omitted: "+f.text(s))
		}
	}
}

// does reports whether a function still compiles without this statement.
func does(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	}
	return false
}

func (f *finder) add(start, end token.Pos, text, what string) {
	at := f.fset.Position(start)
	f.found = append(f.found, mutant{f.name, at.Line, at.Offset, f.fset.Position(end).Offset, text, what})
}

// text returns the first line of a node's source.
func (f *finder) text(n ast.Node) string {
	return string(f.source[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}
