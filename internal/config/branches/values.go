// SPDX-License-Identifier: Apache-2.0

package branches

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// value is the value of an expression: a string, float64, bool, nil for None, or []value.
type value struct {
	data  any
	known bool
}

// truth is whether a condition holds.
type truth int

const (
	undecided truth = iota
	yes
	no
)

// maxFollow limits how many names are looked up for one value.
const maxFollow = 12

func known(data any) value { return value{data, true} }

// truth returns whether an expression is true.
func (v visit) truth(e pysrc.Expr) truth { return v.value(e).truth() }

// truth returns whether Python treats a value as true.
func (x value) truth() truth {
	if !x.known {
		return undecided
	}
	switch d := x.data.(type) {
	case string:
		return truthOf(d != "")
	case float64:
		return truthOf(d != 0)
	case bool:
		return truthOf(d)
	case []value:
		return truthOf(len(d) > 0)
	case nil:
		return no
	}
	return undecided
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// asValue returns a truth as a value.
func (t truth) asValue() value { return value{t == yes, t != undecided} }

// equal compares two values. Values of different kinds are left undecided, because flags are text before they are parsed.
func equal(a, b value) truth {
	if !a.known || !b.known {
		return undecided
	}
	if _, open := a.data.(Result); open {
		return undecided
	}
	if _, open := b.data.(Result); open {
		return undecided
	}
	if a.data == nil || b.data == nil {
		return truthOf(a.data == nil && b.data == nil)
	}
	switch x := a.data.(type) {
	case string:
		if y, is := b.data.(string); is {
			return truthOf(x == y)
		}
	case float64:
		if y, is := b.data.(float64); is {
			return truthOf(x == y)
		}
	case bool:
		if y, is := b.data.(bool); is {
			return truthOf(x == y)
		}
	case Name:
		if y, is := b.data.(Name); is {
			return truthOf(x == y)
		}
	}
	return undecided
}

// value evaluates an expression.
func (v visit) value(e pysrc.Expr) value { return scope{v.r, v.in, 0}.value(e) }

// scope is where an expression is evaluated; depth counts the names that were looked up on the way.
type scope struct {
	r     *reading
	in    *function
	depth int
}

func (s scope) value(e pysrc.Expr) value {
	switch e := e.(type) {
	case *pysrc.Const:
		return constant(e.Text)
	case *pysrc.Number:
		return known(e.Float)
	case *pysrc.Str:
		return known(e.Value)
	case *pysrc.Name:
		return s.name(e.ID)
	case *pysrc.Attribute:
		if isArguments(e.X) {
			return s.r.argument(e.Name)
		}
		if name := dotted(e); name != "" {
			return known(Name(name))
		}
	case *pysrc.Subscript:
		if key, is := e.Index.(*pysrc.Str); is && isArguments(e.X) {
			return s.r.argument(key.Value)
		}
	case *pysrc.Unary:
		if e.Op == "not" {
			return s.not(e.X)
		}
	case *pysrc.BoolOp:
		return s.combined(e)
	case *pysrc.Compare:
		return s.compared(e)
	case *pysrc.Conditional:
		return s.conditional(e)
	case *pysrc.List:
		return s.list(e.Elts)
	case *pysrc.Tuple:
		return s.list(e.Elts)
	case *pysrc.Set:
		return s.list(e.Elts)
	case *pysrc.Call:
		return s.called(e)
	}
	return value{}
}

func constant(text string) value {
	switch text {
	case "True", "False":
		return known(text == "True")
	case "None":
		return known(nil)
	}
	return value{}
}

func (s scope) list(elements []pysrc.Expr) value {
	out := []value{}
	for _, e := range elements {
		out = append(out, s.value(e))
	}
	return known(out)
}

func (s scope) not(e pysrc.Expr) value {
	switch s.value(e).truth() {
	case yes:
		return known(false)
	case no:
		return known(true)
	}
	return value{}
}

func (s scope) conditional(e *pysrc.Conditional) value {
	switch s.value(e.Test).truth() {
	case yes:
		return s.value(e.Then)
	case no:
		return s.value(e.Else)
	}
	return value{}
}

// combined evaluates and and or. One decided operand may decide the whole.
func (s scope) combined(e *pysrc.BoolOp) value {
	stops, open := truthOf(e.Op == "or"), false
	var last value
	for _, x := range e.Values {
		last = s.value(x)
		switch t := last.truth(); {
		case t == stops && open:
			return (stops).asValue()
		case t == stops:
			return last
		case t == undecided:
			open = true
		}
	}
	if open {
		return value{}
	}
	return last
}

// compared evaluates a comparison of two values.
func (s scope) compared(e *pysrc.Compare) value {
	if len(e.Ops) != 1 {
		return value{}
	}
	a, b := s.value(e.Left), s.value(e.Rights[0])
	switch e.Ops[0] {
	case "==", "is":
		return equal(a, b).asValue()
	case "!=", "is not":
		return opposite(equal(a, b)).asValue()
	case "in":
		return within(a, b).asValue()
	case "not in":
		return opposite(within(a, b)).asValue()
	}
	x, isX := a.data.(float64)
	y, isY := b.data.(float64)
	if !a.known || !b.known || !isX || !isY {
		return value{}
	}
	switch e.Ops[0] {
	case "<":
		return known(x < y)
	case "<=":
		return known(x <= y)
	case ">":
		return known(x > y)
	case ">=":
		return known(x >= y)
	}
	return value{}
}

func opposite(t truth) truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return undecided
}

// within returns whether a value is in a list, or a text in another.
func within(a, b value) truth {
	if !a.known || !b.known {
		return undecided
	}
	switch list := b.data.(type) {
	case string:
		if text, is := a.data.(string); is {
			return truthOf(strings.Contains(list, text))
		}
	case []value:
		open := false
		for _, x := range list {
			t := equal(a, x)
			if t == yes {
				return yes
			}
			open = open || t == undecided
		}
		if !open {
			return no
		}
	}
	return undecided
}

// called evaluates a call of a function that is known: a method of a text, getattr, get of a dict of arguments.
func (s scope) called(c *pysrc.Call) value {
	switch f := c.Func.(type) {
	case *pysrc.Attribute:
		if f.Name == "get" && isArguments(f.X) {
			return s.lookedUp(c.Args)
		}
		if text, is := s.value(f.X).data.(string); is {
			return s.textMethod(text, f.Name, c.Args)
		}
	case *pysrc.Name:
		switch {
		case f.ID == "getattr" && len(c.Args) > 1 && isArguments(c.Args[0].Value):
			return s.lookedUp(c.Args[1:])
		case f.ID == "getattr" && len(c.Args) == 2 && dotted(c.Args[0].Value) == "torch":
			if name, is := s.value(c.Args[1].Value).data.(string); is {
				return known(Name("torch." + name))
			}
		case f.ID == "bool" && len(c.Args) == 1:
			return s.value(c.Args[0].Value).truth().asValue()
		case s.r.functions[f.ID] != nil:
			return known(Result(f.ID))
		}
	}
	return value{}
}

// lookedUp evaluates the lookup of an argument by its name, with a default.
func (s scope) lookedUp(args []pysrc.Arg) value {
	if len(args) == 0 {
		return value{}
	}
	name, is := args[0].Value.(*pysrc.Str)
	if !is {
		return value{}
	}
	if x := s.r.argument(name.Value); x.known || len(args) < 2 || s.r.isArgument(name.Value) {
		return x
	}
	return s.value(args[1].Value)
}

func (s scope) textMethod(text, method string, args []pysrc.Arg) value {
	switch {
	case method == "lower" && len(args) == 0:
		return known(strings.ToLower(text))
	case method == "upper" && len(args) == 0:
		return known(strings.ToUpper(text))
	case method == "strip" && len(args) == 0:
		return known(strings.TrimSpace(text))
	case len(args) != 1:
		return value{}
	}
	part, is := s.value(args[0].Value).data.(string)
	switch {
	case !is:
	case method == "startswith":
		return known(strings.HasPrefix(text, part))
	case method == "endswith":
		return known(strings.HasSuffix(text, part))
	}
	return value{}
}

// name returns the value of a variable: the only value that the function or the module assigns to it, or the value that
// all calls pass.
func (s scope) name(id string) value {
	if id == "__name__" {
		return known("__main__")
	}
	if s.depth++; s.depth > maxFollow {
		return value{}
	}
	all, in := s.assignments(id)
	if len(all) > 0 && in == s.in {
		return s.only(all)
	}
	if s.in != nil {
		i := slices.IndexFunc(s.in.Params, func(p pysrc.Param) bool { return p.Name == id })
		if i >= 0 {
			return s.parameter(i)
		}
		s.in = nil
	}
	return s.only(all)
}

// assignments returns the executed assignments to a variable, and the function that makes them; nil is the module.
func (s scope) assignments(id string) ([]assign, *function) {
	if s.in != nil {
		if all := s.r.before.assigned[s.in][id]; len(all) > 0 {
			return all, s.in
		}
	}
	return s.r.before.assigned[nil][id], nil
}

// only returns the value of the only assignment.
func (s scope) only(all []assign) value {
	if len(all) != 1 || all[0].value == nil {
		return value{}
	}
	return s.value(all[0].value)
}

// parameter returns the value of a parameter.
func (s scope) parameter(i int) value {
	p := s.in.Params[i]
	if s.in.command {
		if data, given := s.r.given[plain(p.Name)]; given {
			return givenValue(data)
		}
		return s.defaultOf(p)
	}
	calls := s.r.before.calls[s.in.Name]
	if len(calls) == 0 || p.Stars > 0 || len(calls) != s.r.mentionsOf(s.in.Name) {
		return value{}
	}
	var out value
	for n, c := range calls {
		x := s.passed(c, i)
		if n > 0 && equal(out, x) != yes {
			return value{}
		}
		out = x
	}
	return out
}

// mentionsOf returns how often the executed part mentions a function.
func (r *reading) mentionsOf(name string) int { return len(r.before.mentions[name]) }

// passed returns what a call passes for a parameter.
func (s scope) passed(c call, i int) value {
	p := s.in.Params[i]
	for n, a := range c.Args {
		if a.Stars > 0 {
			return value{}
		}
		if a.Name == p.Name || a.Name == "" && n == i {
			return scope{s.r, c.by, s.depth}.value(a.Value)
		}
	}
	return s.defaultOf(p)
}

func (s scope) defaultOf(p pysrc.Param) value {
	if p.Default == nil {
		return value{}
	}
	return literal(p.Default)
}

// literal returns the value of a literal.
func literal(e pysrc.Expr) value { return scope{r: &reading{}, depth: maxFollow}.value(e) }
