// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// A script may replace one of the model's modules with its own, as hand-written LoRA does with Linear layers. The
// model then calls the script's module, whose parameters become the model's.

// replacement is a module of the script that replaces one of the model's.
type replacement struct {
	path    string // path of the replaced module
	called  string // path by which the model calls the replaced module
	by      *instance
	old     *submodule
	reached bool // the model has called it
}

// replaces replaces the model's module at a path with one of the script's. It reports false if that is not
// followed.
func (n *network) replaces(in *interpreter, path string, by *instance) bool {
	if !isModule(by) || !n.replaceable(in, path) {
		return false
	}
	r := n.replacement(path)
	if r == nil {
		r = &replacement{path: path, called: path, old: n.lent(path)}
		n.replaced = append(n.replaced, r)
	}
	hold(by)
	if r.by != nil {
		drop(r.by)
	}
	r.by = by
	n.exchange(in, r)
	return true
}

// exchange gives the model the parameters of a replacement. Modules of the model that are inside the replacement
// get new paths.
func (n *network) exchange(in *interpreter, r *replacement) {
	to := map[string]string{}
	everyModule(r.by, r.path, map[value]bool{}, func(path string, v value) {
		if strings.Count(path, ".") > maxDepth {
			in.fail("modules are nested more than %d deep here", maxDepth)
		}
		if m, ok := v.(*submodule); ok && m.of == n && shadow.Within(m.path, r.path) {
			to[m.path] = path
		}
	})
	moved := func(path string) (string, bool) {
		inner := "" // the innermost module that moved
		for from := range to {
			if shadow.Within(path, from) && len(from) > len(inner) {
				inner = from
			}
		}
		if inner == "" {
			return path, false
		}
		return to[inner] + strings.TrimPrefix(path, inner), true
	}
	var parts []shadow.NamedTensor
	for _, p := range in.namedParameters(r.by) {
		parts = append(parts, shadow.NamedTensor{Name: p.name, Of: p.of.(*shadow.Tensor)})
	}
	gone := n.made(in).Replace(r.path, parts, moved)
	r.called, _ = moved(r.called)
	n.moveParts(r, moved)
	r.old.orphan(gone)
	n.known = nil
	for _, p := range n.net.Parameters() {
		n.known = append(n.known, p.Name())
	}
}

// moveParts gives the modules inside a replacement their new paths. They no longer keep the whole model alive.
func (n *network) moveParts(r *replacement, moved func(string) (string, bool)) {
	parts := map[string]*submodule{}
	for path, m := range n.parts {
		to, kept := moved(path)
		if shadow.Within(path, r.path) {
			m.detach()
			if !kept {
				continue
			}
		}
		m.path = to
		parts[to] = m
	}
	n.parts = parts
}

// detach makes a module that is no longer in the model stop keeping the model alive.
func (m *submodule) detach() {
	if !m.detached {
		m.detached = true
		if m.outside > 0 {
			m.of.release()
		}
	}
}

// orphan takes ownership of parameters that the model no longer has; they live as long as the module.
func (m *submodule) orphan(gone []*shadow.Tensor) {
	m.orphans = append(m.orphans, gone...)
	if m.outside == 0 {
		m.dropOrphans()
	}
}

func (m *submodule) dropOrphans() {
	for _, t := range m.orphans {
		if !t.Dropped() {
			t.Drop()
		}
	}
	m.orphans = nil
}

// replaceable reports whether the module at a path can be replaced: it must be a layer, or a module with one
// input tensor and one output tensor.
func (n *network) replaceable(in *interpreter, path string) bool {
	if n.replacement(path) != nil {
		return true
	}
	for _, m := range n.made(in).Modules() {
		if m.Path == path {
			return m.Kind != "" && m.Kind != "ModuleList" || m.Kind == "" && n.plainModule(in, path)
		}
	}
	return false
}

// plainModule reports whether a module of one of the model's own classes takes one tensor and returns one.
func (n *network) plainModule(in *interpreter, path string) bool {
	m := n.lent(path)
	for _, class := range []string{"Layer", "Attention", "Embeddings", "Encoder"} {
		if m.isNamed(class) {
			return false
		}
	}
	return m.blocks(in) == 0 && (m.isNamed("MLP") || m.isNamed("Norm") || !strings.Contains(path, "."))
}

// replacement returns the script's replacement at a path, or nil.
func (n *network) replacement(path string) *replacement {
	for _, r := range n.replaced {
		if r.path == path {
			return r
		}
	}
	return nil
}

// module borrows the module at a path: the model's, or the script's replacement.
func (n *network) module(path string) (found value) {
	var around *replacement
	for _, r := range n.replaced {
		if shadow.Within(path, r.path) && (around == nil || len(r.path) > len(around.path)) {
			around = r
		}
	}
	if around == nil {
		return n.lent(path)
	}
	everyModule(around.by, around.path, map[value]bool{}, func(at string, v value) {
		if at == path {
			found = v
		}
	})
	if found == nil {
		return n.lent(path)
	}
	return found
}

// runs returns the function that the model calls in place of the replaced module.
func (r *replacement) runs(in *interpreter) shadow.Around {
	return func(x *shadow.Tensor, others []*shadow.Tensor, forward func(x *shadow.Tensor) []*shadow.Tensor) []*shadow.Tensor {
		r.reached, r.old.inner = true, forward
		v := in.abandoning(func() value { return in.invoke(r.by, arguments{pos: []value{x.Hold()}}) })
		if t, ok := v.(*shadow.Tensor); ok {
			return []*shadow.Tensor{t}
		}
		in.fail("the result of this replacement for the model's %s is not followed", shortPath(r.path))
		return nil
	}
}

// setReplaced sets the mode of the model's replacements.
func (n *network) setReplaced(training bool) {
	for _, r := range n.replaced {
		everyModule(r.by, "", map[value]bool{}, func(_ string, m value) { setTraining(m, training) })
	}
}

// moveReplaced moves the buffers of the model's replacements to the model's device.
func (n *network) moveReplaced(in *interpreter, device string, dt shadow.DType) {
	for _, r := range n.replaced {
		everyModule(r.by, "", map[value]bool{}, func(_ string, m value) {
			if o, ok := m.(*instance); ok {
				for _, b := range o.ownBuffers() {
					o.attrs.set(b.name, in.movedBuffer(b.of, device, dt))
				}
			}
		})
	}
}

// refresh updates the model with parameters that the script has set in its replacements since they were inserted.
func (n *network) refresh(in *interpreter) {
	has := map[*shadow.Tensor]bool{}
	for _, p := range n.made(in).Parameters() {
		has[p] = true
	}
	for _, r := range n.replaced {
		for _, p := range in.namedParameters(r.by) {
			if !has[p.of.(*shadow.Tensor)] {
				n.exchange(in, r)
				break
			}
		}
	}
}

// copyReplaced copies the model's replacements to a copy of the model.
func (n *network) copyReplaced(in *interpreter, to *network) {
	for _, r := range n.replaced {
		done := map[value]value{value(r.old): to.lent(r.path)}
		by := in.copiedModule(r.by, done).(*instance)
		if !to.replaces(in, r.path, by) {
			in.note(notFollowed)
		}
		drop(by)
	}
}

// modulesDict is a module's _modules: names and modules, which a script may replace.
type modulesDict struct{ of value }

func (d *modulesDict) hold()    { hold(d.of) }
func (d *modulesDict) release() { drop(d.of) }

func (d *modulesDict) call(in *interpreter, name string, _ arguments) value {
	children := in.childrenOf(d.of)
	switch name {
	case "items":
		return pairs(children)
	case "values":
		return values(children)
	case "keys":
		out := &list{}
		for _, c := range children {
			out.items = append(out.items, c.name)
		}
		return out
	}
	return unknown{}
}

// childrenOf returns a module's direct children.
func (in *interpreter) childrenOf(v value) []member {
	switch m := v.(type) {
	case *network:
		return m.listed(in, "", nil, true)
	case *submodule:
		return m.of.listed(in, m.path, nil, true)
	case *instance:
		return m.children()
	}
	return nil
}
