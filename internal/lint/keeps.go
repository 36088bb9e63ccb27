// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// keep is a statement that adds a value to something that outlives it: a list that is appended to, a dict that gets
// another key, or a sum.
type keep struct {
	fn        *function
	container string     // x, self.x
	key       pysrc.Expr // of container[key] = value
	value     pysrc.Expr
	sum       bool // container += value
	at        pysrc.Pos
	place     *place
	stmt      pysrc.Stmt
}

// grow records container.append(value) and similar calls.
func (w *walker) grow(c *call) {
	on, name := method(c.Call)
	switch name {
	case "append", "extend", "add", "insert", "appendleft":
	default:
		return
	}
	args := positional(c.Call)
	if len(args) == 0 {
		return
	}
	w.keep(rootOf(on), nil, args[len(args)-1], false, c.At())
}

// store records container[key] = value.
func (w *walker) store(t *pysrc.Subscript, value pysrc.Expr) {
	if _, slice := t.Index.(*pysrc.Slice); slice || value == nil {
		return
	}
	w.keep(t.X, t.Index, value, false, t.At())
}

// sum records total += value, and total = total + value.
func (w *walker) sum(a *assign, name string) {
	if list := elements(a.value); a.op == "+" && len(list) > 0 {
		w.keep(a.target, nil, a.value, false, a.at)
		return
	}
	if a.op == "+" || a.op == "-" || a.op == "" && a.element < 0 && addsTo(a.value, name) {
		w.keep(a.target, nil, a.value, true, a.at)
	}
}

// addsTo reports whether an expression is a sum that contains name: name + x, 0.9 * name + 0.1 * x.
func addsTo(e pysrc.Expr, name string) bool {
	b, ok := e.(*pysrc.Binary)
	if !ok || b.Op != "+" {
		return false
	}
	return isShare(b.L, name) || isShare(b.R, name)
}

// isShare reports whether an expression is name, name times something, or a sum that contains name.
func isShare(e pysrc.Expr, name string) bool {
	if dotted(e) == name {
		return true
	}
	b, ok := e.(*pysrc.Binary)
	if !ok {
		return false
	}
	if b.Op == "*" {
		return dotted(b.L) == name || dotted(b.R) == name
	}
	return addsTo(e, name)
}

func (w *walker) keep(container, key, value pysrc.Expr, sum bool, at pysrc.Pos) {
	name := dotted(container)
	if name == "" {
		return
	}
	w.f.keeps = append(w.f.keeps, &keep{w.f, name, key, value, sum, at, w.place, w.stmt})
}

// growing returns the loops, innermost first, in which the container grows without ever being emptied.
func (k *keep) growing() []*place {
	var out []*place
	for _, loop := range k.place.loops() {
		if k.fn.resets(k.container, loop) {
			break
		}
		out = append(out, loop)
	}
	return out
}

// resets reports whether a container is replaced or emptied in a block.
func (f *function) resets(name string, block *place) bool {
	return slices.ContainsFunc(f.emptied[name], func(p *place) bool { return p.in(block) })
}

// emptied returns the container that a call removes something from, or "".
func emptied(c *pysrc.Call) string {
	on, verb := method(c)
	switch verb {
	case "clear", "pop", "popleft", "popitem", "zero_", "remove":
		return dotted(on)
	}
	return ""
}

// findContainers records where containers are replaced or emptied, and which are dicts.
func (f *function) findContainers() {
	for name, list := range f.assigns {
		for _, a := range list {
			f.replaced(name, a)
		}
	}
	for _, c := range f.calls {
		if name := emptied(c.Call); name != "" {
			f.empties(name, c.place)
		}
	}
	for _, s := range f.stmts {
		if d, ok := s.Stmt.(*pysrc.Del); ok {
			for _, t := range d.Targets {
				f.empties(dotted(rootOf(t)), s.place)
			}
		}
	}
}

// replaced records an assignment that replaces a name's value.
func (f *function) replaced(name string, a *assign) {
	if a.op != "" {
		return
	}
	if a.value == nil || !addsTo(a.value, name) {
		f.emptied[name] = append(f.emptied[name], a.place)
	}
	if f.def != nil && f.name != "__init__" && isEmpty(a.value) {
		f.cleared[last(name)] = true
	}
	if isDict(a.value) {
		f.dicts[name] = true
	}
}

func (f *function) empties(name string, p *place) {
	f.emptied[name] = append(f.emptied[name], p)
	f.cleared[last(name)] = true
}

func isDict(e pysrc.Expr) bool {
	if c, ok := e.(*pysrc.Call); ok {
		return hasWord(lastOf(c.Func), "dict")
	}
	_, ok := e.(*pysrc.Dict)
	return ok
}

// isEmpty reports whether an expression is a new container or None.
func isEmpty(e pysrc.Expr) bool {
	switch e := e.(type) {
	case *pysrc.List:
		return len(e.Elts) == 0
	case *pysrc.Dict:
		return len(e.Keys) == 0
	case *pysrc.Const:
		return e.Text == "None"
	case *pysrc.Call:
		switch last(dotted(e.Func)) {
		case "list", "dict", "defaultdict", "OrderedDict", "deque", "set":
			return true
		}
	}
	return false
}

// isLocal reports whether a container belongs to its function: it is assigned there and not declared global.
func (k *keep) isLocal() bool {
	if strings.Contains(k.container, ".") || k.fn.globals[k.container] || k.fn.def == nil {
		return false
	}
	return len(k.fn.assigns[k.container]) > 0 || k.fn.params[k.container]
}

// isBounded reports whether a container cannot grow, such as a deque with a length.
func (k *keep) isBounded() bool {
	for f := k.fn; f != nil; f = f.outer {
		for _, a := range f.assigns[k.container] {
			c, ok := a.value.(*pysrc.Call)
			if ok && (last(dotted(c.Func)) == "deque" && len(c.Args) > 0 || hasWord(dotted(c.Func), "queue", "buffer")) {
				return true
			}
		}
	}
	return false
}

// countsUp reports whether the key differs in each iteration of a loop, because it is the loop's own variable.
func (k *keep) countsUp(loop *place) bool {
	f, ok := loop.stmt.(*pysrc.For)
	if !ok {
		return false
	}
	targets := elements(f.Target)
	if targets == nil {
		targets = []pysrc.Expr{f.Target}
	}
	for _, t := range targets {
		if id := dotted(t); id != "" && id != "_" && mentions(k.key, id) {
			return true
		}
	}
	return false
}
