// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"snug/internal/pysrc"
)

// signal is how a block ended. For and while loops are in iterations.go; with statements are in contexts.go.
type signal int

const (
	goOn signal = iota
	breaks
	continues
	returns
	raises
)

func (in *interpreter) block(body []pysrc.Stmt) signal {
	for _, s := range body {
		if sig := in.statement(s); sig != goOn {
			return sig
		}
	}
	return goOn
}

func (in *interpreter) statement(s pysrc.Stmt) signal {
	in.at = s.At()
	if in.statements++; in.statements > maxStatements {
		in.tooLong("following the script requires more than %d statements; use a built-in loop instead, such as --loop script, or measure it: snug profile -- <your command>", maxStatements)
	}
	if in.Stop != nil && in.statements%64 == 0 {
		if err := in.Stop(); err != nil {
			panic(stopped{err})
		}
	}
	switch s := s.(type) {
	case *pysrc.ExprStmt:
		drop(in.eval1(s.X))
	case *pysrc.Assign:
		in.assign(s)
	case *pysrc.AugAssign:
		in.augmented(s)
	case *pysrc.AnnAssign:
		in.annotated(s)
	case *pysrc.Return:
		if s.X != nil {
			in.scope().result = in.eval1(s.X)
		}
		return returns
	case *pysrc.Del:
		for _, t := range s.Targets {
			in.del(t)
		}
	case *pysrc.Break:
		return breaks
	case *pysrc.Continue:
		return continues
	case *pysrc.Raise:
		return raises
	case *pysrc.Import:
		in.imports(s)
	case *pysrc.ImportFrom:
		in.importsFrom(s)
	case *pysrc.FunctionDef:
		in.bind(s.Name, in.decorated(s.Decorators, in.newFunction(s)))
	case *pysrc.ClassDef:
		in.bind(s.Name, in.newClass(s))
	default:
		return in.compound(s)
	}
	return goOn
}

// compound runs a statement that contains blocks.
func (in *interpreter) compound(s pysrc.Stmt) signal {
	switch s := s.(type) {
	case *pysrc.If:
		return in.ifs(s)
	case *pysrc.While:
		return in.whiles(s)
	case *pysrc.For:
		return in.fors(s)
	case *pysrc.With:
		return in.withs(s.Items, s.Body)
	case *pysrc.Try:
		return in.tries(s)
	case *pysrc.Match:
		return in.matches(s)
	}
	return goOn
}

// touching lists attributes that indicate that a block affects memory.
var touching = map[string]bool{
	"backward": true, "step": true, "zero_grad": true, "clip_grad_norm_": true, "empty_cache": true,
	"append": true, "evaluate": true, "generate": true, "manual_backward": true, "load_state_dict": true,
}

func (in *interpreter) ifs(s *pysrc.If) signal {
	test := in.eval1(s.Test)
	yes, known := decided(s.Test, test)
	drop(test)
	if !known {
		in.assumed++
		in.at = s.At()
		if mentions(s.Then, touching) && !mentions(s.Else, touching) || mentions(s.Then, touching) != mentions(s.Else, touching) {
			in.note("whether this condition holds is not known; it is assumed to be false")
		}
	}
	if yes {
		return in.block(s.Then)
	}
	return in.block(s.Else)
}

func (in *interpreter) tries(s *pysrc.Try) signal {
	sig := in.block(s.Body)
	if sig == raises && len(s.Handlers) > 0 {
		sig = in.block(s.Handlers[0].Body)
	} else if sig == goOn {
		sig = in.block(s.Else)
	}
	if end := in.block(s.Finally); end != goOn {
		return end
	}
	return sig
}

func (in *interpreter) matches(s *pysrc.Match) signal {
	subject := in.eval1(s.Subject)
	defer drop(subject)
	for _, c := range s.Cases {
		if c.Any {
			return in.block(c.Body)
		}
		if c.Pattern == nil {
			continue
		}
		p := in.eval1(c.Pattern)
		if same(p, subject) {
			return in.block(c.Body)
		}
	}
	return goOn
}

// bind binds a name in the current scope; it takes ownership of v.
func (in *interpreter) bind(name string, v value) {
	in.scope().owner(name).vars.set(name, v)
}

func (in *interpreter) assign(s *pysrc.Assign) {
	v := in.eval1(s.Value)
	for _, t := range s.Targets[1:] {
		in.store(t, hold(v))
	}
	in.store(s.Targets[0], v)
}

func (in *interpreter) annotated(s *pysrc.AnnAssign) {
	if s.Value != nil {
		in.store(s.Target, in.eval1(s.Value))
	}
}

// store assigns v to a target; it takes ownership of v.
func (in *interpreter) store(target pysrc.Expr, v value) {
	switch t := target.(type) {
	case *pysrc.Name:
		in.bind(t.ID, in.resized(t.ID, v))
	case *pysrc.Attribute:
		o := in.eval1(t.X)
		in.setattr(o, t.Name, v)
		drop(o)
	case *pysrc.Subscript:
		o, key := in.eval1(t.X), in.eval1(t.Index)
		in.setitem(o, key, v)
		drop(key)
		drop(o)
	case *pysrc.Tuple:
		in.unpack(t.Elts, v)
	case *pysrc.List:
		in.unpack(t.Elts, v)
	case *pysrc.Starred:
		in.store(t.X, v)
	default:
		drop(v)
	}
}

// unpack assigns the parts of a value to several targets.
func (in *interpreter) unpack(targets []pysrc.Expr, v value) {
	parts := in.items(v, len(targets))
	star := -1
	for i, t := range targets {
		if _, ok := t.(*pysrc.Starred); ok {
			star = i
		}
	}
	if star >= 0 && len(parts) >= len(targets)-1 {
		after := len(targets) - 1 - star
		rest := &list{items: append([]value(nil), parts[star:len(parts)-after]...)}
		parts = append(append(append([]value(nil), parts[:star]...), rest), parts[len(parts)-after:]...)
	}
	for i, t := range targets {
		if i < len(parts) {
			in.store(t, parts[i])
		} else {
			in.store(t, unknown{})
		}
	}
	drop(v)
}

// items returns the parts of a value that is unpacked into want targets, each owned by the caller.
func (in *interpreter) items(v value, want int) []value {
	switch v := v.(type) {
	case *list:
		in.grow(len(v.items))
		out := make([]value, len(v.items))
		for i, x := range v.items {
			out[i] = hold(x)
		}
		return out
	case sizeValue:
		out := make([]value, len(v))
		for i, n := range v {
			out[i] = n
		}
		return out
	case unknown:
		return nil
	}
	if d, ok := v.(*dict); ok && d.batch {
		return d.parts(want)
	}
	it := in.iterate(v)
	if it == nil {
		return nil
	}
	defer drop(it)
	var out []value
	for len(out) < max(want, 64) {
		x, ok := it.next()
		if !ok {
			break
		}
		out = append(out, x)
	}
	return out
}

func (in *interpreter) augmented(s *pysrc.AugAssign) {
	old := in.eval1(s.Target)
	v := in.eval1(s.Value)
	in.store(s.Target, in.inPlace(s.Op, old, v))
	drop(v)
	drop(old)
}

func (in *interpreter) del(target pysrc.Expr) {
	switch t := target.(type) {
	case *pysrc.Name:
		in.scope().owner(t.ID).vars.remove(t.ID)
	case *pysrc.Attribute:
		o := in.eval1(t.X)
		if i, ok := o.(*instance); ok {
			i.attrs.remove(t.Name)
		}
		switch o.(type) {
		case *network, *submodule:
			in.note(notFollowed)
		}
		drop(o)
	case *pysrc.Subscript:
		o, key := in.eval1(t.X), in.eval1(t.Index)
		if d, ok := o.(*dict); ok {
			d.remove(key)
		}
		if l, ok := o.(*list); ok {
			in.delItem(l, key)
		}
		if m, ok := o.(*submodule); ok {
			in.deleteLayers(m, key)
		}
		drop(key)
		drop(o)
	case *pysrc.Tuple:
		for _, e := range t.Elts {
			in.del(e)
		}
	}
}

func (in *interpreter) delItem(l *list, key value) {
	i, ok := key.(int)
	if !ok {
		in.note("the items deleted from this list are not known; it is assumed to keep all of them")
		return
	}
	if i < 0 {
		i += len(l.items)
	}
	if i >= 0 && i < len(l.items) {
		old := l.items[i]
		l.items = append(l.items[:i:i], l.items[i+1:]...)
		drop(old)
	}
}

func (in *interpreter) imports(s *pysrc.Import) {
	for _, a := range s.Names {
		root, _, _ := strings.Cut(a.Name, ".")
		if a.As != "" {
			in.bind(a.As, in.moduleValue(a.Name))
			continue
		}
		in.bind(root, in.moduleValue(root))
	}
}

func (in *interpreter) importsFrom(s *pysrc.ImportFrom) {
	module := in.absolute(s)
	for _, a := range s.Names {
		if a.Name == "*" {
			if m := in.imported(module); m != nil {
				for i, k := range m.vars.keys {
					if !strings.HasPrefix(k.(string), "_") {
						in.bind(k.(string), hold(m.vars.vals[i]))
					}
				}
			}
			continue
		}
		name := a.As
		if name == "" {
			name = a.Name
		}
		in.bind(name, in.member(module, a.Name))
	}
}

// absolute returns the module that a statement imports from. A relative one starts at the package of the file, which for
// the script itself is its folder.
func (in *interpreter) absolute(s *pysrc.ImportFrom) string {
	path := in.scope().file.Path
	if s.Level == 0 {
		return s.Module
	}
	var parts []string
	if path != in.File.Path {
		parts = strings.Split(filepath.ToSlash(path), "/")
		parts = parts[:max(len(parts)-s.Level, 0)]
	}
	if s.Module != "" {
		parts = append(parts, s.Module)
	}
	return strings.Join(parts, ".")
}

// moduleValue returns a module as a value.
func (in *interpreter) moduleValue(path string) value {
	in.checkModule(path)
	return namespace(canonical(path))
}

// checkModule adds a note if a module next to the script cannot be read, even if it is never used.
func (in *interpreter) checkModule(path string) {
	if _, err := library(path); err == nil {
		return
	}
	if _, err := in.Import(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		in.imported(path)
	}
}

// member returns the value of a name in a module, owned by the caller.
func (in *interpreter) member(module, name string) value {
	module = sentenceModule(canonical(module))
	if m := in.imported(module); m != nil {
		if v, ok := m.vars.get(name); ok {
			return hold(v)
		}
	}
	return in.elsewhere(strings.TrimPrefix(module+"."+name, "."))
}

// elsewhere returns the value of a dotted name, which may be an alias of a name in another module.
func (in *interpreter) elsewhere(path string) value {
	to := canonical(path)
	if module, name, ok := cutLast(to); ok && to != path {
		if m := in.imported(module); m != nil {
			if v, ok := m.vars.get(name); ok {
				return hold(v)
			}
		}
	}
	return namespace(to)
}
