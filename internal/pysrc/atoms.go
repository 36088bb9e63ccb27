// SPDX-License-Identifier: Apache-2.0

package pysrc

// atom reads a name, a literal or a display.
func (p *parser) atom() Expr {
	t := p.peek()
	switch t.kind {
	case name:
		p.at++
		return &Name{t.pos(), t.text}
	case number:
		return numberOf(p.take())
	case str, fStart:
		return p.strings()
	case keyword, op:
		switch t.text {
		case "None", "True", "False", "...":
			p.at++
			return &Const{t.pos(), t.text}
		case "(":
			return p.parenthesized()
		case "[":
			return p.list()
		case "{":
			return p.braces()
		}
	}
	p.fail("expected an expression, found %s", t)
	return nil
}

// parenthesized reads a tuple, a generator, or an expression in parentheses.
func (p *parser) parenthesized() Expr {
	at := p.take().pos()
	if p.accept(")") {
		return &Tuple{Pos: at}
	}
	if p.is("yield") {
		x := p.yield()
		p.expect(")")
		return x
	}
	x := p.element()
	switch {
	case p.isFor():
		x = p.comprehension(at, "generator", x, nil)
	case p.is(","):
		x = &Tuple{at, p.elements(x, ")")}
	default:
		p.checkPlain(x)
	}
	p.expect(")")
	return x
}

// checkPlain reports an error for a * where only a single value is allowed.
func (p *parser) checkPlain(x Expr) {
	if s, is := x.(*Starred); is {
		p.failAt(s.Pos, "'*' is not allowed here")
	}
}

func (p *parser) list() Expr {
	at := p.take().pos()
	if p.accept("]") {
		return &List{Pos: at}
	}
	x := p.element()
	if p.isFor() {
		x = p.comprehension(at, "list", x, nil)
	} else {
		x = &List{at, p.elements(x, "]")}
	}
	p.expect("]")
	return x
}

// elements reads a display's elements after the first; a trailing comma is allowed.
func (p *parser) elements(first Expr, end string) []Expr {
	list := []Expr{first}
	for p.accept(",") && !p.is(end) {
		list = append(list, p.element())
	}
	return list
}

// braces reads a dict or a set.
func (p *parser) braces() Expr {
	at := p.take().pos()
	if p.accept("}") {
		return &Dict{Pos: at}
	}
	if p.is("**") {
		return p.dict(&Dict{Pos: at})
	}
	named := p.isNamed()
	x := p.element()
	switch {
	case p.is(":") && !named:
		return p.dictFrom(at, x)
	case p.isFor():
		x = p.comprehension(at, "set", x, nil)
	default:
		x = &Set{at, p.elements(x, "}")}
	}
	p.expect("}")
	return x
}

// dictFrom reads a dict whose first key has been read.
func (p *parser) dictFrom(at Pos, key Expr) Expr {
	p.checkPlain(key)
	p.expect(":")
	value := p.expr()
	if p.isFor() {
		x := p.comprehension(at, "dict", key, value)
		p.expect("}")
		return x
	}
	d := &Dict{at, []Expr{key}, []Expr{value}}
	if p.accept(",") {
		return p.dict(d)
	}
	p.expect("}")
	return d
}

// dict reads a dict's items up to its closing brace.
func (p *parser) dict(d *Dict) Expr {
	for !p.is("}") {
		var key Expr
		if p.accept("**") {
			d.Values = append(d.Values, p.binary(0))
		} else {
			key = p.expr()
			p.expect(":")
			d.Values = append(d.Values, p.expr())
		}
		d.Keys = append(d.Keys, key)
		if !p.accept(",") {
			break
		}
	}
	p.expect("}")
	return d
}

// isFor reports whether a comprehension clause follows.
func (p *parser) isFor() bool {
	return p.is("for") || p.is("async") && p.ahead(1).is("for")
}

// comprehension reads the clauses after an element.
func (p *parser) comprehension(at Pos, of string, elt, value Expr) Expr {
	p.checkPlain(elt)
	c := &Comprehension{Pos: at, Kind: of, Elt: elt, Value: value}
	for p.isFor() {
		p.accept("async")
		p.take()
		clause := Clause{Target: p.targets()}
		p.expect("in")
		clause.Iter = p.or()
		for p.accept("if") {
			clause.Ifs = append(clause.Ifs, p.or())
		}
		c.Clauses = append(c.Clauses, clause)
	}
	return c
}
