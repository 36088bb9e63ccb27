// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

// walker records every call, assignment and growing container of a function, with its place.
type walker struct {
	f     *function
	place *place
	stmt  pysrc.Stmt
}

func (w *walker) block(body []pysrc.Stmt) {
	for _, s := range body {
		w.statement(s)
	}
}

// inside walks through a block that has its own place.
func (w *walker) inside(p *place, body []pysrc.Stmt) {
	outer := w.place
	w.place = p
	w.block(body)
	w.place = outer
}

func (w *walker) statement(s pysrc.Stmt) {
	w.stmt = s
	w.f.stmts = append(w.f.stmts, &statement{s, w.place})
	switch s := s.(type) {
	case *pysrc.FunctionDef:
		w.definition(s)
	case *pysrc.ClassDef:
		w.class(s)
	case *pysrc.Global:
		w.outerNames(s.Names)
	case *pysrc.Nonlocal:
		w.outerNames(s.Names)
	case *pysrc.For:
		w.expr(s.Iter)
		w.assign(s.Target, nil, -1, "")
		w.inside(w.place.within(s, false), s.Body)
		w.block(s.Else)
	case *pysrc.While:
		inner := w.place.within(s, false)
		w.expr(s.Test)
		w.inside(inner, s.Body)
		w.block(s.Else)
	case *pysrc.If:
		w.branch(s)
	case *pysrc.With:
		w.with(s)
	case *pysrc.Try:
		w.try(s)
	case *pysrc.Match:
		w.expr(s.Subject)
		for _, c := range s.Cases {
			w.inside(w.place.within(s, false), c.Body)
		}
	default:
		w.simple(s)
	}
}

// branch walks through an if statement.
func (w *walker) branch(s *pysrc.If) {
	w.expr(s.Test)
	w.inside(w.place.within(s, false), s.Then)
	w.inside(w.place.within(s, false), s.Else)
}

func (w *walker) with(s *pysrc.With) {
	gradless := false
	for _, i := range s.Items {
		w.expr(i.X)
		if i.As != nil {
			w.assign(i.As, nil, -1, "")
		}
		gradless = gradless || w.f.noGradients(i.X)
	}
	w.inside(w.place.within(s, gradless), s.Body)
}

func (w *walker) try(s *pysrc.Try) {
	w.inside(w.place.within(s, false), s.Body)
	for i := range s.Handlers {
		h := &s.Handlers[i]
		w.expr(h.Type)
		p := w.place.within(s, false)
		p.handler = h
		w.inside(p, h.Body)
	}
	w.inside(w.place.within(s, false), s.Else)
	w.inside(w.place.within(s, false), s.Finally)
}

func (w *walker) definition(s *pysrc.FunctionDef) {
	gradless := w.place.gradless
	for _, d := range s.Decorators {
		w.expr(d)
		gradless = gradless || w.f.noGradients(d)
	}
	for _, p := range s.Params {
		w.expr(p.Default)
	}
	w.f.module.readFunction(w.f, nil, s, s.Body, gradless)
}

func (w *walker) class(s *pysrc.ClassDef) {
	for _, d := range s.Decorators {
		w.expr(d)
	}
	for _, b := range s.Bases {
		w.expr(b.Value)
	}
	c := w.f.classes[s.Name]
	for _, inner := range s.Body {
		def, ok := inner.(*pysrc.FunctionDef)
		if !ok {
			w.statement(inner)
			continue
		}
		gradless := false
		for _, d := range def.Decorators {
			w.expr(d)
			gradless = gradless || w.f.noGradients(d)
		}
		w.f.module.readFunction(w.f, c, def, def.Body, gradless)
	}
}

func (w *walker) outerNames(names []string) {
	for _, n := range names {
		w.f.globals[n] = true
	}
}

func (w *walker) simple(s pysrc.Stmt) {
	pysrc.Parts(s, w.expr, w.block)
	switch s := s.(type) {
	case *pysrc.Assign:
		for _, t := range s.Targets {
			w.assign(t, s.Value, -1, "")
		}
	case *pysrc.AnnAssign:
		w.assign(s.Target, s.Value, -1, "")
	case *pysrc.AugAssign:
		w.assign(s.Target, s.Value, -1, s.Op)
	}
}

// assign records an assignment, and what it puts into a container.
func (w *walker) assign(target, value pysrc.Expr, element int, op string) {
	switch t := target.(type) {
	case *pysrc.Tuple:
		w.unpack(t.Elts, value)
		return
	case *pysrc.List:
		w.unpack(t.Elts, value)
		return
	case *pysrc.Starred:
		target = t.X
	case *pysrc.Subscript:
		w.store(t, value)
		return
	}
	name := dotted(target)
	if name == "" {
		return
	}
	a := &assign{target, value, element, op, target.At(), w.place, w.stmt}
	w.f.assigns[name] = append(w.f.assigns[name], a)
	if value != nil {
		w.sum(a, name)
	}
}

func (w *walker) unpack(targets []pysrc.Expr, value pysrc.Expr) {
	values := elements(value)
	for i, t := range targets {
		if len(values) == len(targets) {
			w.assign(t, values[i], -1, "")
		} else {
			w.assign(t, value, i, "")
		}
	}
}

func elements(e pysrc.Expr) []pysrc.Expr {
	switch e := e.(type) {
	case *pysrc.Tuple:
		return e.Elts
	case *pysrc.List:
		return e.Elts
	}
	return nil
}

func (w *walker) expr(e pysrc.Expr) {
	switch e := e.(type) {
	case nil:
		return
	case *pysrc.Name:
		w.word(e.ID)
	case *pysrc.Attribute:
		w.word(e.Name)
	case *pysrc.Lambda:
		// A lambda's calls run later, in another place, so only its words are recorded.
	case *pysrc.Walrus:
		w.assign(&pysrc.Name{Pos: e.Pos, ID: e.Name}, e.Value, -1, "")
	case *pysrc.Call:
		c := &call{e, w.f, w.f.imported(e.Func), w.place, w.stmt}
		w.f.calls = append(w.f.calls, c)
		if c.place.gradless {
			w.f.quiet[last(c.name)] = true
		}
		w.grow(c)
		for _, a := range e.Args {
			if a.Name != "" {
				w.f.module.words[a.Name] = true
			}
		}
	}
	pysrc.ExprParts(e, w.expr)
}

func (w *walker) word(name string) {
	w.f.words[name] = true
	w.f.module.words[name] = true
}
