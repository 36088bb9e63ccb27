// SPDX-License-Identifier: Apache-2.0

package branches

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// Arguments are recognized by the name of the object that has them (args.task, self.config.task, cfg["task"]). Their
// defaults are in dataclasses and in calls of add_argument, of the program or of modules that it imports.

// plain returns the name of an argument as Python spells it.
func plain(name string) string { return strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_") }

// argumentsEndings are the endings of names for an object that has arguments.
var argumentsEndings = []string{"args", "arguments", "config", "cfg", "conf", "opt", "opts", "options", "hparams", "params", "flags"}

// isArguments reports whether an expression names an object that has arguments.
func isArguments(e pysrc.Expr) bool {
	switch e := e.(type) {
	case *pysrc.Name:
		return hasArguments(e.ID)
	case *pysrc.Attribute:
		x, is := e.X.(*pysrc.Name)
		return is && (x.ID == "self" || hasArguments(x.ID)) && (hasArguments(e.Name) || hasArguments(x.ID))
	}
	return false
}

func hasArguments(name string) bool {
	name = strings.ToLower(name)
	return name != "kwargs" && slices.ContainsFunc(argumentsEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// argument returns the value of an argument: as given, or else its default.
func (r *reading) argument(name string) value {
	name = plain(name)
	if r.before.changed[name] {
		return value{}
	}
	if data, given := r.given[name]; given {
		return givenValue(data)
	}
	return r.declared[name]
}

func givenValue(data any) value {
	if data == (Unknown{}) {
		return value{}
	}
	return known(data)
}

// isArgument reports whether an argument is given or declared.
func (r *reading) isArgument(name string) bool {
	_, given := r.given[plain(name)]
	_, declared := r.declared[plain(name)]
	return given || declared
}

// arguments returns the names of the arguments with unknown values that an expression depends on.
func (v visit) arguments(e pysrc.Expr) (out []string) {
	var visit func(pysrc.Expr)
	visit = func(e pysrc.Expr) {
		switch e := e.(type) {
		case nil:
			return
		case *pysrc.Attribute:
			if isArguments(e.X) && !v.value(e).known {
				out = append(out, e.Name)
				return
			}
		case *pysrc.Subscript:
			if key, is := e.Index.(*pysrc.Str); is && isArguments(e.X) && !v.value(e).known {
				out = append(out, key.Value)
				return
			}
		case *pysrc.Name:
			if v.in != nil && slices.ContainsFunc(v.in.Params, func(p pysrc.Param) bool { return p.Name == e.ID }) && !v.value(e).known {
				out = append(out, e.ID)
			}
		}
		pysrc.ExprParts(e, visit)
	}
	visit(e)
	return out
}

// declare records the defaults of the arguments that statements declare. If two declarations differ, the default is unknown.
func (r *reading) declare(body []pysrc.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *pysrc.ClassDef:
			if slices.ContainsFunc(s.Decorators, isDataclass) {
				r.fields(s.Body)
			}
		case *pysrc.ExprStmt:
			r.added(s.X)
		}
		pysrc.Parts(s, func(pysrc.Expr) {}, r.declare)
	}
}

func (r *reading) put(name string, x value) {
	name = plain(name)
	if before, twice := r.declared[name]; twice && equal(before, x) != yes {
		x = value{}
	}
	r.declared[name] = x
}

// isDataclass reports whether a decorator makes a dataclass.
func isDataclass(e pysrc.Expr) bool {
	if c, is := e.(*pysrc.Call); is {
		e = c.Func
	}
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID == "dataclass"
	case *pysrc.Attribute:
		return e.Name == "dataclass"
	}
	return false
}

// fields records the fields of a dataclass.
func (r *reading) fields(body []pysrc.Stmt) {
	for _, s := range body {
		f, is := s.(*pysrc.AnnAssign)
		if !is {
			continue
		}
		name, is := f.Target.(*pysrc.Name)
		if !is {
			continue
		}
		c, is := f.Value.(*pysrc.Call)
		switch {
		case f.Value == nil:
			r.put(name.ID, value{})
		case is:
			r.put(name.ID, keyword(c, "default"))
		default:
			r.put(name.ID, literal(f.Value))
		}
	}
}

// keyword returns the value of a keyword argument, unknown if it is absent.
func keyword(c *pysrc.Call, name string) value {
	for _, a := range c.Args {
		if a.Name == name {
			return literal(a.Value)
		}
	}
	return value{}
}

// added records the flag that a call of add_argument declares.
func (r *reading) added(e pysrc.Expr) {
	c, is := e.(*pysrc.Call)
	if !is {
		return
	}
	f, is := c.Func.(*pysrc.Attribute)
	if !is || f.Name != "add_argument" {
		return
	}
	name := ""
	for _, a := range c.Args {
		if text, is := a.Value.(*pysrc.Str); is && a.Name == "" && (name == "" || strings.HasPrefix(text.Value, "--")) {
			name = text.Value
		}
		if text, is := a.Value.(*pysrc.Str); is && a.Name == "dest" {
			name = text.Value
		}
	}
	if strings.HasPrefix(name, "-") || keyword(c, "dest").known {
		r.put(name, flagDefault(c))
	}
}

// flagDefault returns the value of a flag that is not given.
func flagDefault(c *pysrc.Call) value {
	has := func(name string) bool {
		return slices.ContainsFunc(c.Args, func(a pysrc.Arg) bool { return a.Name == name })
	}
	action, _ := keyword(c, "action").data.(string)
	switch {
	case has("default"):
		return keyword(c, "default")
	case keyword(c, "required").truth() == yes, slices.ContainsFunc(c.Args, func(a pysrc.Arg) bool { return a.Stars > 0 }):
		return value{}
	case action == "store_true" || action == "store_false":
		return known(action == "store_false")
	case has("action") && action == "":
		return value{}
	}
	return known(nil)
}
