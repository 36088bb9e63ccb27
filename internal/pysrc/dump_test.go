// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"fmt"
	"strconv"
	"strings"
)

// dumper writes a tree in the format of testdata/dump.py: one line per statement in the module, with positions after
// @. Positions inside f-strings are omitted, because they differ between CPython versions.
type dumper struct {
	strings.Builder
	unplaced int // number of enclosing f-strings
}

func dump(f *File) string {
	var d dumper
	for _, s := range f.Body {
		d.stmt(s)
		d.WriteByte('\n')
	}
	return d.String()
}

// open begins a node.
func (d *dumper) open(n Node, what string, words ...string) {
	d.WriteString("(" + what)
	if d.unplaced == 0 {
		fmt.Fprintf(d, "@%d:%d", n.At().Line, n.At().Col)
	}
	for _, w := range words {
		d.WriteString(" " + w)
	}
}

// node writes a node that has only words and expressions.
func (d *dumper) node(n Node, what string, words []string, children ...Expr) {
	d.open(n, what, words...)
	d.exprs(children)
	d.WriteByte(')')
}

func (d *dumper) exprs(list []Expr) {
	for _, x := range list {
		d.WriteByte(' ')
		d.expr(x)
	}
}

// list writes expressions in brackets, so that adjacent lists stay separate.
func (d *dumper) list(list []Expr) {
	d.WriteString(" [")
	d.exprs(list)
	d.WriteByte(']')
}

// quote writes all bytes except letters and digits in hexadecimal.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		if c := text[i]; isWordByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (d *dumper) expr(x Expr) {
	switch x := x.(type) {
	case nil:
		d.WriteByte('-')
	case *Name:
		d.node(x, "name", []string{x.ID})
	case *Const:
		d.node(x, "const", []string{x.Text})
	case *Number:
		d.node(x, "num", []string{numberText(x)})
	case *Str:
		d.node(x, "str", []string{quote(x.Value)})
	case *FString:
		d.fstring(x)
	case *Attribute:
		d.node(x, "attr", []string{x.Name}, x.X)
	case *Subscript:
		d.node(x, "index", nil, x.X, x.Index)
	case *Slice:
		d.node(x, "slice", nil, x.Lo, x.Hi, x.Step)
	case *Call:
		d.open(x, "call")
		d.exprs([]Expr{x.Func})
		d.args(x.Args)
		d.WriteByte(')')
	case *Unary:
		d.node(x, "unary", []string{x.Op}, x.X)
	case *Binary:
		d.node(x, "binary", []string{x.Op}, x.L, x.R)
	case *BoolOp:
		d.node(x, "bool", []string{x.Op}, x.Values...)
	case *Compare:
		d.node(x, "compare", []string{strings.Join(x.Ops, ",")}, append([]Expr{x.Left}, x.Rights...)...)
	case *Conditional:
		d.node(x, "cond", nil, x.Test, x.Then, x.Else)
	case *Lambda:
		d.open(x, "lambda")
		d.params(x.Params)
		d.exprs([]Expr{x.Body})
		d.WriteByte(')')
	case *Tuple:
		d.node(x, "tuple", nil, x.Elts...)
	case *List:
		d.node(x, "list", nil, x.Elts...)
	case *Set:
		d.node(x, "set", nil, x.Elts...)
	case *Dict:
		d.open(x, "dict")
		d.list(x.Keys)
		d.list(x.Values)
		d.WriteByte(')')
	case *Comprehension:
		d.open(x, "comp", x.Kind)
		d.exprs([]Expr{x.Elt, x.Value})
		for _, c := range x.Clauses {
			d.exprs([]Expr{c.Target, c.Iter})
			d.list(c.Ifs)
		}
		d.WriteByte(')')
	case *Starred:
		d.node(x, "star", nil, x.X)
	case *Await:
		d.node(x, "await", nil, x.X)
	case *Yield:
		d.node(x, "yield", []string{strconv.FormatBool(x.From)}, x.X)
	case *Walrus:
		d.node(x, "walrus", []string{x.Name}, x.Value)
	default:
		panic(fmt.Sprintf("%T", x))
	}
}

func (d *dumper) fstring(x *FString) {
	d.open(x, "fstr")
	d.unplaced++
	d.exprs(x.Parts)
	d.unplaced--
	d.WriteByte(')')
}

// numberText returns the value of a number: an integer that fits, or the bits of a float.
func numberText(n *Number) string {
	if n.IsInt {
		return strconv.FormatInt(n.Int, 10)
	}
	return fmt.Sprintf("%.17g", n.Float)
}

// args writes arguments in CPython's order: positional ones, then keywords.
func (d *dumper) args(args []Arg) {
	d.WriteString(" [")
	for _, a := range args {
		if a.Name != "" || a.Stars == 2 {
			continue
		}
		d.WriteString(" " + strings.Repeat("*", a.Stars))
		d.expr(a.Value)
	}
	for _, a := range args {
		if a.Name == "" && a.Stars < 2 {
			continue
		}
		d.WriteString(" " + strings.Repeat("*", a.Stars) + a.Name + "=")
		d.expr(a.Value)
	}
	d.WriteByte(']')
}

func (d *dumper) params(params []Param) {
	d.WriteString(" <")
	for _, p := range params {
		if p.Name == "" && p.Stars == 0 {
			d.WriteString(" /")
			continue
		}
		d.WriteString(" " + strings.Repeat("*", p.Stars) + p.Name)
		if p.KeywordOnly {
			d.WriteString("!")
		}
		if p.Annotation != nil {
			d.WriteString(":")
			d.expr(p.Annotation)
		}
		if p.Default != nil {
			d.WriteString("=")
			d.expr(p.Default)
		}
	}
	d.WriteByte('>')
}
