// SPDX-License-Identifier: Apache-2.0

package pysrc

// arguments reads what a call has in parentheses.
func (p *parser) arguments() []Arg {
	open := p.take().pos()
	var args []Arg
	var order order
	for !p.is(")") {
		at := p.pos()
		arg := p.argument()
		if arg.Name == "" && arg.Stars == 0 && p.isFor() {
			arg.Value = p.soleGenerator(open, arg.Value, len(args) == 0)
		}
		if wrong := order.add(arg); wrong != "" {
			p.failAt(at, "%s", wrong)
		}
		args = append(args, arg)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return args
}

func (p *parser) argument() Arg {
	switch {
	case p.accept("*"):
		return Arg{Stars: 1, Value: p.expr()}
	case p.accept("**"):
		return Arg{Stars: 2, Value: p.expr()}
	case p.peek().kind == name && p.ahead(1).is("="):
		a := Arg{Name: p.take().text}
		p.take()
		a.Value = p.expr()
		return a
	}
	return Arg{Value: p.named()}
}

// soleGenerator reads a generator without parentheses of its own, which may stand in a
// call only alone.
func (p *parser) soleGenerator(open Pos, elt Expr, first bool) Expr {
	x := p.comprehension(open, "generator", elt, nil)
	if !first || !p.is(")") {
		p.fail("a generator beside other arguments needs parentheses")
	}
	return x
}

// order is which arguments a call has so far.
type order struct{ named, doubled bool }

// add takes an argument, or says why it may not stand there. Only ** and keywords may
// follow **, and one by position follows neither.
func (o *order) add(arg Arg) string {
	switch {
	case arg.Name != "":
		o.named = true
	case arg.Stars == 2:
		o.doubled = true
	case o.doubled:
		return "an argument by position follows '**'"
	case o.named && arg.Stars == 0:
		return "an argument by position follows one by name"
	}
	return ""
}
