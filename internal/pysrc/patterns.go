// SPDX-License-Identifier: Apache-2.0

package pysrc

// pattern is the part of a pattern that is stored.
type pattern struct {
	constant Expr // a Str, Number or Const
	any      bool // it matches everything
}

// match reads a match statement. It returns nil if match is just a name here.
func (p *parser) match() Stmt {
	s := &Match{Pos: p.pos()}
	isMatch := p.try(func() bool {
		p.take()
		if !p.startsExpr() {
			return false
		}
		s.Subject = p.tuple(p.element)
		p.checkPlain(s.Subject)
		ok := p.accept(":") && p.peek().kind == newline && p.ahead(1).kind == indent
		p.at = min(p.at+2, len(p.tokens)-1)
		return ok && p.isSoft("case")
	})
	if !isMatch {
		return nil
	}
	if !p.enter() {
		return s
	}
	defer p.leave()
	for p.isSoft("case") {
		s.Cases = append(s.Cases, p.matchCase())
	}
	if p.peek().kind != dedent {
		p.fail("expected 'case', found %s", p.peek())
		return s
	}
	p.take()
	return s
}

func (p *parser) matchCase() Case {
	p.take()
	found := p.patterns()
	c := Case{Pattern: found.constant}
	if p.accept("if") {
		c.Guard = p.named()
	}
	c.Any = found.any && c.Guard == nil
	c.Body = p.block()
	return c
}

// patterns reads the pattern of a case, which may be a sequence without brackets.
func (p *parser) patterns() pattern {
	star := p.is("*")
	first := p.starPattern()
	if !star && !p.is(",") {
		return first
	}
	if star && !p.is(",") {
		p.fail("expected ',' after a '*' pattern, found %s", p.peek())
	}
	for p.accept(",") && !p.is(":") && !p.is("if") {
		p.starPattern()
	}
	return pattern{}
}

// starPattern reads a pattern, or *name within a sequence.
func (p *parser) starPattern() pattern {
	if p.accept("*") {
		p.name()
		return pattern{}
	}
	return p.asPattern()
}

func (p *parser) asPattern() pattern {
	first := p.closedPattern()
	for p.accept("|") {
		p.closedPattern()
		first = pattern{}
	}
	if p.accept("as") {
		if p.isSoft("_") {
			p.fail("'_' cannot be bound")
		}
		p.name()
		first = pattern{}
	}
	return first
}

func (p *parser) closedPattern() pattern {
	if !p.enter() {
		return pattern{}
	}
	defer p.leave()
	switch t := p.peek(); t.kind {
	case number:
		return p.numberPattern()
	case str, fStart:
		x := p.strings()
		if _, formatted := x.(*FString); formatted {
			return pattern{}
		}
		return pattern{constant: x}
	case name:
		return p.namePattern()
	case keyword:
		switch t.text {
		case "None", "True", "False":
			return pattern{constant: p.atom()}
		}
	case op:
		switch t.text {
		case "-":
			return p.numberPattern()
		case "(":
			return p.groupPattern()
		case "[":
			p.take()
			p.sequencePattern("]")
			return pattern{}
		case "{":
			p.mappingPattern()
			return pattern{}
		}
	}
	p.fail("expected a pattern, found %s", p.peek())
	return pattern{}
}

// numberPattern reads a number. A number with a sign or an imaginary part is not stored.
func (p *parser) numberPattern() pattern {
	signed := p.accept("-")
	x := p.numberLiteral()
	if p.is("+") || p.is("-") {
		p.take()
		p.numberLiteral()
		return pattern{}
	}
	if signed {
		return pattern{}
	}
	return pattern{constant: x}
}

func (p *parser) numberLiteral() Expr {
	if p.peek().kind != number {
		p.fail("expected a number, found %s", p.peek())
		return nil
	}
	return numberOf(p.take())
}

// namePattern reads a name to bind, a dotted name to compare with, or a class.
func (p *parser) namePattern() pattern {
	p.take()
	dotted := p.is(".")
	for p.accept(".") {
		p.name()
	}
	if p.accept("(") {
		p.classPattern()
		return pattern{}
	}
	return pattern{any: !dotted}
}

func (p *parser) groupPattern() pattern {
	p.take()
	if p.accept(")") {
		return pattern{}
	}
	star := p.is("*")
	first := p.starPattern()
	if !star && p.accept(")") {
		return first
	}
	if !p.is(",") {
		p.fail("expected ',' or ')' in a pattern, found %s", p.peek())
	}
	p.accept(",")
	p.sequencePattern(")")
	return pattern{}
}

// sequencePattern reads patterns up to a closing bracket.
func (p *parser) sequencePattern(end string) {
	for !p.is(end) {
		p.starPattern()
		if !p.accept(",") {
			break
		}
	}
	p.expect(end)
}

func (p *parser) mappingPattern() {
	p.take()
	for !p.is("}") {
		if p.accept("**") {
			p.name()
		} else {
			p.mappingKey()
			p.expect(":")
			p.asPattern()
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect("}")
}

// mappingKey reads a key, which is a literal or a dotted name.
func (p *parser) mappingKey() {
	switch t := p.peek(); {
	case t.kind == name && !p.ahead(1).is("."), t.is("("), t.is("["), t.is("{"):
		p.fail("a key in a pattern must be a literal or a dotted name")
	default:
		p.closedPattern()
	}
}

// classPattern reads the arguments of Class(…).
func (p *parser) classPattern() {
	named := false
	for !p.is(")") {
		if p.peek().kind == name && p.ahead(1).is("=") {
			p.at += 2
			named = true
		} else if named {
			p.fail("a positional pattern follows a keyword pattern")
		}
		p.asPattern()
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}
