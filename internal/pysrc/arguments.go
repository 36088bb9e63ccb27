// SPDX-License-Identifier: Apache-2.0

package pysrc

// arguments reads a call's arguments, in parentheses.
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

// soleGenerator reads a generator without its own parentheses, which must be the only argument of a call.
func (p *parser) soleGenerator(open Pos, elt Expr, first bool) Expr {
	x := p.comprehension(open, "generator", elt, nil)
	if !first || !p.is(")") {
		p.fail("a generator next to other arguments needs parentheses")
	}
	return x
}

// order tracks the kinds of arguments that a call has so far.
type order struct{ named, doubled bool }

// add adds an argument, or returns why it is not allowed there. Only ** and keywords may
// follow **, and a positional argument may follow neither.
func (o *order) add(arg Arg) string {
	switch {
	case arg.Name != "":
		o.named = true
	case arg.Stars == 2:
		o.doubled = true
	case o.doubled:
		return "a positional argument follows '**'"
	case o.named && arg.Stars == 0:
		return "a positional argument follows a keyword argument"
	}
	return ""
}
