// SPDX-License-Identifier: Apache-2.0

package script

import (
	"iter"
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// call evaluates a call. Arguments are evaluated from left to right, after the function.
func (in *interpreter) call(e *pysrc.Call) value {
	if n, ok := e.Func.(*pysrc.Name); ok && n.ID == "super" && len(e.Args) == 0 {
		if _, found := in.scope().lookup("super"); !found {
			return in.superOf()
		}
	}
	fn := in.eval1(e.Func)
	mark := in.pend(fn)
	args, kept := in.arguments(e.Args)
	in.finish(mark + 1)
	in.pend(kept...)
	in.at = e.At()
	out := in.invoke(fn, args)
	in.finish(mark)
	dropAll(kept)
	drop(fn)
	return out
}

func (in *interpreter) superOf() value {
	for i := len(in.scopes) - 1; i >= 0; i-- {
		if s := in.scopes[i]; s.method != nil {
			return &super{self: hold(s.self), above: s.method}
		}
	}
	return unknown{}
}

// arguments evaluates the arguments. The tuple or dict after * or ** keeps its items alive until the call ends;
// it is returned in kept.
func (in *interpreter) arguments(list []pysrc.Arg) (args arguments, kept []value) {
	for _, a := range list {
		v := in.eval1(a.Value)
		in.pend(v)
		switch {
		case a.Stars == 1:
			args.pos = append(args.pos, in.items(v, 0)...)
			kept = append(kept, v)
		case a.Stars == 2:
			d := &dict{}
			in.merge(d, v)
			for i, k := range d.keys {
				if name, ok := k.(string); ok {
					args.names, args.named = append(args.names, name), append(args.named, hold(d.vals[i]))
				}
			}
			drop(v)
			kept = append(kept, d)
		case a.Name != "":
			args.names, args.named = append(args.names, a.Name), append(args.named, v)
		default:
			args.pos = append(args.pos, v)
		}
	}
	return args, kept
}

// invoke calls fn. It borrows fn and takes ownership of the arguments.
func (in *interpreter) invoke(fn value, args arguments) value {
	if in.depth++; in.depth > maxDepth {
		in.fail("calls are nested more than %d deep here", maxDepth)
	}
	defer func() { in.depth-- }()
	switch f := fn.(type) {
	case *function:
		return in.run(f, args)
	case *method:
		args.pos = append([]value{hold(f.self)}, args.pos...)
		return in.run(f.fn, args)
	case *class:
		return in.construct(f, args)
	case *instance:
		return in.callInstance(f, args)
	case *partial:
		return in.callPartial(f, args)
	}
	mark := in.pend(args.pos...)
	in.pend(args.named...)
	out := in.callNative(fn, args)
	in.finish(mark)
	in.inherits(out, fn, args)
	args.drop()
	return out
}

func (in *interpreter) callPartial(p *partial, args arguments) value {
	var all arguments
	for _, v := range p.args.pos {
		all.pos = append(all.pos, hold(v))
	}
	all.pos = append(all.pos, args.pos...)
	for i, n := range p.args.names {
		if _, given := args.get(-1, n); !given {
			all.names, all.named = append(all.names, n), append(all.named, hold(p.args.named[i]))
		}
	}
	all.names, all.named = append(all.names, args.names...), append(all.named, args.named...)
	return in.invoke(p.fn, all)
}

// callInstance calls an object's __call__. A module holds its arguments until its forward has returned.
func (in *interpreter) callInstance(o *instance, args arguments) value {
	for _, name := range []string{"__call__", "forward"} {
		m := in.instanceMethod(o, name)
		if m == nil {
			continue
		}
		if name == "forward" {
			if in.result.Backwards == 0 && isModule(o) {
				in.forwards()
				in.ownBatch(o, args)
			}
			for _, v := range append(append([]value(nil), args.pos...), args.named...) {
				hold(v)
				defer drop(v)
			}
		}
		call := func(args arguments) value { return in.invoke(m, args) }
		if name == "forward" && len(o.before)+len(o.after) > 0 {
			out := in.hooked(o, args, call)
			drop(m)
			return out
		}
		out := call(args)
		drop(m)
		return out
	}
	in.noteTensors("a "+o.class.name, args)
	args.drop()
	return unknown{}
}

// instanceMethod returns an object's method, or the attribute set in its place, or nil if it has neither.
func (in *interpreter) instanceMethod(o *instance, name string) value {
	if v, ok := o.attrs.get(name); ok && name == "forward" {
		return hold(v)
	}
	if fn, owner := o.class.find(name); owner != nil {
		return in.methodOf(o, fn)
	}
	return nil
}

// noteTensors adds a note that a call is not followed if any of its arguments is a tensor.
func (in *interpreter) noteTensors(what string, args arguments) {
	for _, v := range append(append([]value(nil), args.pos...), args.named...) {
		if holdsTensor(v) {
			if name, is := undefinedName(what); is {
				what = name + ", which is not defined in the files read,"
			}
			in.note("the effect of %s on tensors is not followed", what)
			return
		}
	}
}

// run calls a Python function, which takes ownership of the arguments.
func (in *interpreter) run(f *function, args arguments) value {
	hold(f)
	f.scope.hold()
	s := &scope{parent: f.scope, info: f.info, globals: f.scope.globals, file: f.file, method: f.owner, called: in.at}
	if len(args.pos) > 0 {
		s.self = args.pos[0]
	}
	in.parameters(f, s, args)
	if f.info.generator {
		return in.generator(f, s)
	}
	before := in.result.Updates
	out := in.body(f, s)
	if f.updates() && in.result.Updates == before {
		in.countUpdate()
	}
	drop(f)
	return out
}

// updates reports whether the function is the step method of an optimizer that the script defines itself.
func (f *function) updates() bool {
	return f.name == "step" && f.owner != nil && f.owner.derives("Optimizer") && !strings.HasPrefix(f.file.Path, libraryFolder)
}

// body runs a function's statements in its scope.
func (in *interpreter) body(f *function, s *scope) value {
	in.scopes = append(in.scopes, s)
	at := in.at
	if f.result != nil {
		s.result = in.eval1(f.result)
	} else {
		in.block(f.body)
	}
	in.at = at
	in.scopes = in.scopes[:len(in.scopes)-1]
	out := s.result
	s.leave()
	return out
}

// generator runs the function up to its next yield each time a value is requested.
func (in *interpreter) generator(f *function, s *scope) value {
	seq := iter.Seq[value](func(yield func(value) bool) {
		defer func() {
			if e := recover(); e != nil && e != (ended{}) {
				panic(e)
			}
		}()
		s.yield = yield
		outer := in.scopes
		in.scopes = append(in.scopes[:len(in.scopes):len(in.scopes)], s)
		in.block(f.body)
		in.scopes = outer
	})
	next, stop := iter.Pull(seq)
	return &iterator{
		size: -1, data: true,
		next: func() (value, bool) {
			outer, depth := in.scopes, in.depth
			in.scopes = append(outer[:len(outer):len(outer)], s)
			v, ok := next()
			in.scopes, in.depth = outer, depth
			return v, ok
		},
		skip: func() bool { return s.skips() },
		end: func() {
			outer, depth := in.scopes, in.depth
			stop()
			in.scopes, in.depth = outer, depth
			s.leave()
			drop(f)
		},
	}
}

// ended is the panic that unwinds a generator that is no longer used.
type ended struct{}

func (in *interpreter) yields(e *pysrc.Yield) value {
	v := in.eval1(e.X)
	s := in.scope()
	for at := len(in.scopes) - 1; s.yield == nil && at > 0; at-- {
		s = in.scopes[at]
	}
	if s.yield == nil {
		return unknown{}
	}
	if e.From {
		it := in.iterate(v)
		for it != nil {
			in.grow(1)
			x, ok := it.next()
			if !ok || !s.yield(x) {
				break
			}
		}
		drop(v)
		return nil
	}
	if !s.yield(v) {
		panic(ended{})
	}
	return nil
}

// parameters binds a function's parameters in order.
func (in *interpreter) parameters(f *function, s *scope, args arguments) {
	used := map[string]bool{}
	next := 0
	for i, p := range f.params {
		switch {
		case p.Stars == 1:
			if p.Name != "" {
				s.vars.set(p.Name, tupleOf(args.pos[min(next, len(args.pos)):]...))
				next = len(args.pos)
			}
			continue
		case p.Stars == 2:
			s.vars.set(p.Name, rest(args, used))
			continue
		case p.Name == "":
			continue
		}
		if next < len(args.pos) && !p.KeywordOnly {
			s.vars.set(p.Name, args.pos[next])
			next++
			continue
		}
		if v, ok := args.get(-1, p.Name); ok {
			s.vars.set(p.Name, v)
			used[p.Name] = true
			continue
		}
		s.vars.set(p.Name, hold(f.defaults[i]))
	}
	for ; next < len(args.pos); next++ {
		drop(args.pos[next])
	}
	for i, n := range args.names {
		if !used[n] {
			drop(args.named[i])
		}
	}
}

// rest returns the named arguments that match no parameter as a dict, which takes ownership of them.
func rest(args arguments, used map[string]bool) *dict {
	d := &dict{}
	for i, n := range args.names {
		if !used[n] {
			used[n] = true
			d.set(n, args.named[i])
		}
	}
	return d
}

func (in *interpreter) newFunction(s *pysrc.FunctionDef) *function {
	f := in.function(s.Params)
	f.name, f.body, f.info = s.Name, s.Body, namesIn(s.Body, nil)
	return f
}

func (in *interpreter) newLambda(e *pysrc.Lambda) *function {
	f := in.function(e.Params)
	f.name, f.result, f.info = "<lambda>", e.Body, namesIn(nil, e.Body)
	return f
}

func (in *interpreter) function(params []pysrc.Param) *function {
	s := in.scope()
	if s.isClass {
		s = s.parent
	}
	s.hold()
	f := &function{params: params, scope: s, file: s.file, defaults: make([]value, len(params))}
	for i, p := range params {
		if p.Default != nil {
			f.defaults[i] = in.eval1(p.Default)
		} else {
			f.defaults[i] = unknown{}
		}
	}
	return f
}

// decorated applies known decorators and those that the script defines. Others are assumed not to change the
// function.
func (in *interpreter) decorated(ds []pysrc.Expr, f *function) value {
	var out value = f
	for i := len(ds) - 1; i >= 0; i-- {
		switch name := decorator(ds[i]); name {
		case "staticmethod":
			f.plain = true
		case "classmethod":
			f.ofClass = true
		case "property", "cached_property":
			f.name = "property " + f.name
		case "no_grad", "inference_mode", "enable_grad", "autocast":
			f.body = []pysrc.Stmt{&pysrc.With{Pos: f.body[0].At(), Items: []pysrc.WithItem{{X: calledDecorator(ds[i])}}, Body: f.body}}
		default:
			out = in.ownDecorator(ds[i], out)
		}
	}
	return out
}

// ownDecorator calls a decorator that the script itself defines; it takes ownership of f.
func (in *interpreter) ownDecorator(e pysrc.Expr, f value) value {
	by := in.eval1(e)
	defer drop(by)
	switch by.(type) {
	case *function, *method, *partial, *instance:
		hold(f)
		if out := in.invoke(by, arguments{pos: []value{f}}); !isUnknown(out) {
			drop(f)
			return out
		}
	}
	return f
}

// property returns the function behind a property.
func (f *function) property() (*function, bool) {
	return f, strings.HasPrefix(f.name, "property ")
}

func calledDecorator(e pysrc.Expr) pysrc.Expr {
	if _, ok := e.(*pysrc.Call); ok {
		return e
	}
	at := e.At()
	return &pysrc.Call{Pos: at, Func: e}
}

// decorator returns the last name of a decorator.
func decorator(e pysrc.Expr) string {
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID
	case *pysrc.Attribute:
		return e.Name
	case *pysrc.Call:
		return decorator(e.Func)
	}
	return ""
}

func (in *interpreter) newClass(s *pysrc.ClassDef) value {
	c := &class{name: s.Name, types: map[string]pysrc.Expr{}, data: slices.ContainsFunc(s.Decorators, func(e pysrc.Expr) bool { return decorator(e) == "dataclass" })}
	for _, b := range s.Bases {
		if b.Name == "" {
			c.bases = append(c.bases, in.eval1(b.Value))
		}
	}
	outer := in.scope()
	outer.hold()
	own := &scope{parent: outer, globals: outer.globals, file: outer.file, isClass: true}
	in.scopes = append(in.scopes, own)
	for _, st := range s.Body {
		if a, ok := st.(*pysrc.AnnAssign); ok {
			if n, ok := a.Target.(*pysrc.Name); ok {
				c.fields = append(c.fields, n.ID)
				c.types[n.ID] = a.Annotation
			}
		}
		in.statement(st)
	}
	in.scopes = in.scopes[:len(in.scopes)-1]
	for i, k := range own.vars.keys {
		if f, ok := own.vars.vals[i].(*function); ok {
			f.owner = c
		}
		c.attrs.set(k, own.vars.vals[i])
	}
	return c
}

// construct makes an object of the class.
func (in *interpreter) construct(c *class, args arguments) value {
	o := &instance{class: c}
	if fn, _ := c.find("forward"); fn != nil && isModule(o) {
		if f, ok := fn.(*function); ok && !strings.HasPrefix(f.file.Path, libraryFolder) {
			in.lists(c.name)
		}
	}
	if fn, owner := c.find("__init__"); owner != nil {
		m := in.methodOf(o, fn)
		drop(in.invoke(m, args))
		drop(m)
		return o
	}
	if c.derives("NamedTuple") && c.plainFields() {
		return in.namedFields(c, args)
	}
	in.dataFields(o, c, args)
	return o
}

// plainFields reports whether a class has fields but no functions of its own.
func (c *class) plainFields() bool {
	return len(c.fields) > 0 && !slices.ContainsFunc(c.attrs.vals, func(v value) bool { _, ok := v.(*function); return ok })
}

// namedFields makes an object of a class with typing.NamedTuple as its base.
func (in *interpreter) namedFields(c *class, args arguments) value {
	defer args.drop()
	out := &list{tuple: true, names: c.allFields()}
	for i, name := range out.names {
		v, given := args.get(i, name)
		if !given {
			v, _ = c.find(name)
		}
		out.items = append(out.items, hold(v))
	}
	return out
}

// dataFields implements __init__ for a dataclass, or for a class without its own __init__.
func (in *interpreter) dataFields(o *instance, c *class, args arguments) {
	names := c.allFields()
	for i, name := range names {
		if i < len(args.pos) {
			o.attrs.set(name, args.pos[i])
		} else if v, given := args.get(-1, name); given {
			o.attrs.set(name, v)
		} else if v, owner := c.find(name); owner != nil && c.data {
			o.attrs.set(name, hold(v))
		}
	}
	for _, v := range args.pos[min(len(names), len(args.pos)):] {
		drop(v)
	}
	for i, n := range args.names {
		if !slices.Contains(names, n) {
			o.attrs.set(n, args.named[i])
		}
	}
	if fn, owner := c.find("__post_init__"); owner != nil {
		m := in.methodOf(o, fn)
		drop(in.invoke(m, arguments{}))
		drop(m)
	}
}

func (c *class) allFields() []string {
	var out []string
	for _, b := range c.bases {
		if base, ok := b.(*class); ok {
			out = append(out, base.allFields()...)
		}
	}
	return append(out, c.fields...)
}
