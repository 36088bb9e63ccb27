// SPDX-License-Identifier: Apache-2.0

package pysrc

// Expressions are read by one function for each level of the grammar, from the loosest
// to the tightest: tuple, named, expr, or, and, not, comparison, binary, factor, power,
// primary, atom. A node begins at its first token, even if that is a bracket.

// valuesOrYield reads the right side of an assignment.
func (p *parser) valuesOrYield() Expr {
	if p.is("yield") {
		return p.yield()
	}
	return p.values()
}

// values reads one expression, or several separated by commas, which form a tuple.
func (p *parser) values() Expr { return p.tuple(p.starred) }

func (p *parser) tuple(read func() Expr) Expr {
	at := p.pos()
	x := read()
	if !p.is(",") {
		return x
	}
	t := &Tuple{Pos: at, Elts: []Expr{x}}
	for p.accept(",") && p.startsExpr() {
		t.Elts = append(t.Elts, read())
	}
	return t
}

// startsExpr reports whether an expression can begin at the next token.
func (p *parser) startsExpr() bool {
	switch t := p.peek(); t.kind {
	case name, number, str, fStart:
		return true
	case keyword:
		switch t.text {
		case "None", "True", "False", "not", "lambda", "await":
			return true
		}
	case op:
		switch t.text {
		case "(", "[", "{", "-", "+", "~", "*", "...":
			return true
		}
	}
	return false
}

// starred reads an expression, optionally preceded by *.
func (p *parser) starred() Expr {
	if !p.is("*") {
		return p.expr()
	}
	at := p.take().pos()
	return &Starred{at, p.binary(0)}
}

// element reads an element of a display, which may have a * or be a walrus.
func (p *parser) element() Expr {
	if p.is("*") {
		return p.starred()
	}
	return p.named()
}

// named reads an expression that may be Name := Value.
func (p *parser) named() Expr {
	if p.isNamed() {
		t := p.take()
		p.take()
		return &Walrus{t.pos(), t.text, p.expr()}
	}
	return p.expr()
}

// isNamed reports whether Name := follows.
func (p *parser) isNamed() bool { return p.peek().kind == name && p.ahead(1).is(":=") }

// expr reads an expression without commas: a lambda, or a conditional.
func (p *parser) expr() Expr {
	if !p.enter() {
		return nil
	}
	x := p.conditional()
	p.leave()
	return x
}

func (p *parser) conditional() Expr {
	if p.is("lambda") {
		return p.lambda()
	}
	at := p.pos()
	x := p.or()
	if !p.accept("if") {
		return x
	}
	c := &Conditional{Pos: at, Then: x, Test: p.or()}
	p.expect("else")
	c.Else = p.expr()
	return c
}

func (p *parser) lambda() Expr {
	l := &Lambda{Pos: p.take().pos()}
	l.Params = p.params(":", false)
	p.expect(":")
	l.Body = p.expr()
	return l
}

func (p *parser) yield() Expr {
	y := &Yield{Pos: p.take().pos()}
	if p.accept("from") {
		y.From = true
		y.X = p.expr()
	} else if p.startsExpr() {
		y.X = p.values()
	}
	return y
}

func (p *parser) or() Expr  { return p.boolOp("or", p.and) }
func (p *parser) and() Expr { return p.boolOp("and", p.not) }

func (p *parser) boolOp(word string, read func() Expr) Expr {
	at := p.pos()
	x := read()
	if !p.is(word) {
		return x
	}
	b := &BoolOp{Pos: at, Op: word, Values: []Expr{x}}
	for p.accept(word) {
		b.Values = append(b.Values, read())
	}
	return b
}

func (p *parser) not() Expr {
	if !p.is("not") {
		return p.comparison()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	at := p.take().pos()
	return &Unary{at, "not", p.not()}
}

func (p *parser) comparison() Expr {
	at := p.pos()
	x := p.binary(0)
	operator := p.comparisonOp()
	if operator == "" {
		return x
	}
	c := &Compare{Pos: at, Left: x}
	for ; operator != ""; operator = p.comparisonOp() {
		c.Ops = append(c.Ops, operator)
		c.Rights = append(c.Rights, p.binary(0))
	}
	return c
}

// comparisonOp reads and returns a comparison operator, or returns "" if the next token is not one.
func (p *parser) comparisonOp() string {
	t := p.peek()
	if t.kind < keyword {
		return ""
	}
	switch t.text {
	case "<", ">", "==", ">=", "<=", "!=", "in":
		return p.take().text
	case "is":
		p.take()
		if p.accept("not") {
			return "is not"
		}
		return "is"
	case "not":
		if p.ahead(1).is("in") {
			p.at += 2
			return "not in"
		}
	}
	return ""
}

// binary reads operators that bind tighter than level; at 0, all arithmetic and bitwise ones.
func (p *parser) binary(level int) Expr {
	at, links := p.pos(), 0
	x := p.factor()
	for {
		t := p.peek()
		binds := precedence(t)
		if binds <= level || !p.link(&links) {
			return x
		}
		p.take()
		x = &Binary{at, t.text, x, p.binary(binds)}
	}
}

// precedence returns how tightly a binary operator binds, or 0 for any other token.
func precedence(t *token) int {
	if t.kind != op {
		return 0
	}
	switch t.text {
	case "|":
		return 1
	case "^":
		return 2
	case "&":
		return 3
	case "<<", ">>":
		return 4
	case "+", "-":
		return 5
	case "*", "/", "//", "%", "@":
		return 6
	}
	return 0
}

func (p *parser) factor() Expr {
	if t := p.peek(); t.kind != op || t.text != "-" && t.text != "+" && t.text != "~" {
		return p.power()
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	t := p.take()
	return &Unary{t.pos(), t.text, p.factor()}
}

func (p *parser) power() Expr {
	at := p.pos()
	x := p.awaited()
	if !p.is("**") {
		return x
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	p.take()
	return &Binary{at, "**", x, p.factor()}
}

func (p *parser) awaited() Expr {
	if !p.is("await") {
		return p.primary()
	}
	at := p.take().pos()
	return &Await{at, p.primary()}
}

// primary reads an atom and the calls, attributes and indices after it.
func (p *parser) primary() Expr {
	at, links := p.pos(), 0
	x := p.atom()
	for p.peek().kind == op {
		switch p.peek().text {
		case ".":
			p.take()
			x = &Attribute{at, x, p.name()}
		case "(":
			x = &Call{at, x, p.arguments()}
		case "[":
			p.take()
			x = &Subscript{at, x, p.indices()}
			p.expect("]")
		default:
			return x
		}
		if !p.link(&links) {
			return x
		}
	}
	return x
}

// indices reads a subscript's indices. Several form a tuple, and so does a single one with *.
func (p *parser) indices() Expr {
	at := p.pos()
	x := p.index()
	if _, star := x.(*Starred); !star && !p.is(",") {
		return x
	}
	t := &Tuple{Pos: at, Elts: []Expr{x}}
	for p.accept(",") && !p.is("]") {
		t.Elts = append(t.Elts, p.index())
	}
	return t
}

// index reads one index: an expression or a slice.
func (p *parser) index() Expr {
	if p.is("*") {
		return p.starred()
	}
	at := p.pos()
	var lo Expr
	if !p.is(":") {
		lo = p.named()
		if !p.is(":") {
			return lo
		}
	}
	p.expect(":")
	s := &Slice{Pos: at, Lo: lo, Hi: p.bound()}
	if p.accept(":") {
		s.Step = p.bound()
	}
	return s
}

// bound reads a part of a slice, if present.
func (p *parser) bound() Expr {
	if p.is(":") || p.is(",") || p.is("]") {
		return nil
	}
	return p.expr()
}
