// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"fmt"
	"strconv"
	"strings"
)

func (d *dumper) body(list []Stmt) {
	d.WriteString(" {")
	for _, s := range list {
		d.WriteByte(' ')
		d.stmt(s)
	}
	d.WriteByte('}')
}

func (d *dumper) stmt(s Stmt) {
	switch s := s.(type) {
	case *ExprStmt:
		d.node(s, "expr", nil, s.X)
	case *Assign:
		d.open(s, "assign")
		d.list(s.Targets)
		d.exprs([]Expr{s.Value})
		d.WriteByte(')')
	case *AugAssign:
		d.node(s, "aug", []string{s.Op}, s.Target, s.Value)
	case *AnnAssign:
		d.node(s, "ann", nil, s.Target, s.Annotation, s.Value)
	case *Return:
		d.node(s, "return", nil, s.X)
	case *Del:
		d.node(s, "del", nil, s.Targets...)
	case *Pass:
		d.node(s, "pass", nil)
	case *Break:
		d.node(s, "break", nil)
	case *Continue:
		d.node(s, "continue", nil)
	case *Raise:
		d.node(s, "raise", nil, s.X)
	case *Assert:
		d.node(s, "assert", nil, s.Test)
	case *Import:
		d.node(s, "import", aliases(s.Names))
	case *ImportFrom:
		d.node(s, "from", append([]string{s.Module, strconv.Itoa(s.Level)}, aliases(s.Names)...))
	case *Global:
		d.node(s, "global", s.Names)
	case *Nonlocal:
		d.node(s, "nonlocal", s.Names)
	case *TypeAlias:
		d.node(s, "type", []string{s.Name}, s.Value)
	default:
		d.compound(s)
	}
}

func aliases(names []Alias) []string {
	var words []string
	for _, a := range names {
		words = append(words, a.Name+">"+a.As)
	}
	return words
}

func (d *dumper) compound(s Stmt) {
	switch s := s.(type) {
	case *If:
		d.open(s, "if")
		d.exprs([]Expr{s.Test})
		d.body(s.Then)
		d.body(s.Else)
	case *While:
		d.open(s, "while")
		d.exprs([]Expr{s.Test})
		d.body(s.Body)
		d.body(s.Else)
	case *For:
		d.open(s, "for")
		d.exprs([]Expr{s.Target, s.Iter})
		d.body(s.Body)
		d.body(s.Else)
	case *With:
		d.open(s, "with")
		for _, item := range s.Items {
			d.exprs([]Expr{item.X, item.As})
		}
		d.body(s.Body)
	case *Try:
		d.open(s, "try")
		d.body(s.Body)
		for _, h := range s.Handlers {
			d.WriteString(" except " + h.Name)
			d.exprs([]Expr{h.Type})
			d.body(h.Body)
		}
		d.body(s.Else)
		d.body(s.Finally)
	case *FunctionDef:
		d.open(s, "def", s.Name)
		d.params(s.Params)
		d.list(s.Decorators)
		d.body(s.Body)
	case *ClassDef:
		d.open(s, "class", s.Name)
		d.args(s.Bases)
		d.list(s.Decorators)
		d.body(s.Body)
	case *Match:
		d.open(s, "match")
		d.exprs([]Expr{s.Subject})
		for _, c := range s.Cases {
			d.WriteString(" case " + strings.ToLower(strconv.FormatBool(c.Any)))
			d.exprs([]Expr{c.Pattern, c.Guard})
			d.body(c.Body)
		}
	default:
		panic(fmt.Sprintf("%T", s))
	}
	d.WriteByte(')')
}
