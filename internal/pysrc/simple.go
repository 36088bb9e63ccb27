// SPDX-License-Identifier: Apache-2.0

package pysrc

import "strings"

// simpleLine reads the statements of one line.
func (p *parser) simpleLine(body []Stmt) []Stmt {
	for {
		body = append(body, p.simple())
		if !p.accept(";") || p.peek().kind == newline {
			break
		}
	}
	p.endOfLine()
	return body
}

func (p *parser) endOfLine() {
	if p.peek().kind != newline {
		p.unexpected()
		return
	}
	p.at++
}

// unexpected reports an error for text after a complete statement on its line.
func (p *parser) unexpected() {
	if before := p.ahead(-min(p.at, 1)); before.kind == name && (before.text == "print" || before.text == "exec") {
		switch p.peek().kind {
		case str, fStart, name, number:
			p.failAt(before.pos(), "'%s' without parentheses is Python 2; this file must be Python 3", before.text)
			return
		}
	}
	p.fail("expected the end of the line, found %s", p.peek())
}

// simple reads a statement without blocks.
func (p *parser) simple() Stmt {
	t := p.peek()
	if t.kind == name && t.text == "type" && p.ahead(1).kind == name {
		return p.typeAlias()
	}
	if t.kind != keyword {
		return p.exprStmt()
	}
	at := t.pos()
	switch t.text {
	case "pass":
		p.take()
		return &Pass{at}
	case "break":
		p.take()
		return &Break{at}
	case "continue":
		p.take()
		return &Continue{at}
	case "return":
		p.take()
		return &Return{at, p.optional(p.values)}
	case "raise":
		return p.raise()
	case "assert":
		return p.assert()
	case "del":
		return p.del()
	case "import":
		p.take()
		return &Import{at, p.modules()}
	case "from":
		return p.importFrom()
	case "global":
		p.take()
		return &Global{at, p.names()}
	case "nonlocal":
		p.take()
		return &Nonlocal{at, p.names()}
	}
	return p.exprStmt()
}

// optional reads an expression, unless the statement ends.
func (p *parser) optional(read func() Expr) Expr {
	if p.peek().kind == newline || p.is(";") {
		return nil
	}
	return read()
}

// exprStmt reads an expression, or an assignment, which begins with one.
func (p *parser) exprStmt() Stmt {
	at := p.pos()
	x := p.valuesOrYield()
	switch {
	case p.is(":"):
		return p.annotated(at, x)
	case p.is("="):
		return p.assign(at, x)
	case p.peek().kind == op && isAugmented(p.peek().text):
		operator := strings.TrimSuffix(p.peek().text, "=")
		p.checkSingle(at, x)
		if p.err != nil {
			return &ExprStmt{at, x}
		}
		p.take()
		return &AugAssign{at, x, operator, p.valuesOrYield()}
	}
	return &ExprStmt{at, x}
}

func isAugmented(text string) bool {
	switch text {
	case "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**=":
		return true
	}
	return false
}

func (p *parser) annotated(at Pos, target Expr) Stmt {
	p.checkSingle(at, target)
	p.accept(":")
	s := &AnnAssign{Pos: at, Target: target, Annotation: p.expr()}
	if p.accept("=") {
		s.Value = p.valuesOrYield()
	}
	return s
}

func (p *parser) assign(at Pos, x Expr) Stmt {
	s := &Assign{Pos: at}
	for p.is("=") {
		p.checkTarget(x)
		if !p.accept("=") {
			break
		}
		s.Targets = append(s.Targets, x)
		x = p.valuesOrYield()
	}
	s.Value = x
	return s
}

func (p *parser) raise() Stmt {
	s := &Raise{Pos: p.take().pos()}
	s.X = p.optional(p.expr)
	if s.X != nil && p.is(",") {
		p.fail("'raise E, text' is Python 2; this file must be Python 3")
	}
	if s.X != nil && p.accept("from") {
		p.expr()
	}
	return s
}

func (p *parser) assert() Stmt {
	s := &Assert{Pos: p.take().pos()}
	s.Test = p.expr()
	if p.accept(",") {
		p.expr()
	}
	return s
}

func (p *parser) del() Stmt {
	s := &Del{Pos: p.take().pos()}
	for {
		at := p.pos()
		x := p.binary(0)
		p.checkDeletable(at, x)
		s.Targets = append(s.Targets, x)
		if !p.accept(",") || p.peek().kind == newline || p.is(";") {
			return s
		}
	}
}

func (p *parser) names() []string {
	names := []string{p.name()}
	for p.accept(",") {
		names = append(names, p.name())
	}
	return names
}

// typeAlias reads type X = Value.
func (p *parser) typeAlias() Stmt {
	s := &TypeAlias{Pos: p.take().pos(), Name: p.name()}
	p.typeParams()
	p.expect("=")
	s.Value = p.expr()
	return s
}
