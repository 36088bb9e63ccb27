// SPDX-License-Identifier: Apache-2.0

package pysrc

// targets reads the targets of a for, up to its in.
func (p *parser) targets() Expr {
	at := p.pos()
	x := p.tuple(p.target)
	if x == nil {
		p.failAt(at, "expected a name to assign to")
	}
	return x
}

// target reads one assignment target.
func (p *parser) target() Expr {
	at := p.pos()
	if p.accept("*") {
		x := p.binary(0)
		p.checkTarget(x)
		return &Starred{at, x}
	}
	x := p.binary(0)
	p.checkTarget(x)
	return x
}

// checkTarget reports an error for an expression that cannot be assigned to.
func (p *parser) checkTarget(x Expr) {
	switch x := x.(type) {
	case nil, *Name, *Attribute, *Subscript:
	case *Starred:
		if _, twice := x.X.(*Starred); twice {
			p.failAt(x.Pos, "cannot assign to this")
		}
		p.checkTarget(x.X)
	case *Tuple:
		p.checkTargets(x.Elts)
	case *List:
		p.checkTargets(x.Elts)
	default:
		p.failAt(x.At(), "cannot assign to this; did you mean '=='?")
	}
}

func (p *parser) checkTargets(list []Expr) {
	for _, x := range list {
		p.checkTarget(x)
	}
}

// checkSingle reports an error for a target that cannot have an annotation or an operator.
func (p *parser) checkSingle(at Pos, x Expr) {
	switch x.(type) {
	case nil, *Name, *Attribute, *Subscript:
	default:
		p.failAt(at, "expected a single name, attribute or item before '%s'", p.peek().text)
	}
}

func (p *parser) checkDeletable(at Pos, x Expr) {
	switch x := x.(type) {
	case nil, *Name, *Attribute, *Subscript:
	case *Tuple:
		for _, e := range x.Elts {
			p.checkDeletable(at, e)
		}
	case *List:
		for _, e := range x.Elts {
			p.checkDeletable(at, e)
		}
	default:
		p.failAt(at, "cannot delete this")
	}
}
