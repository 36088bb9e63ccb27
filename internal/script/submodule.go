// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strconv"
	"strings"

	"snug/internal/family"
	"snug/internal/shadow"
)

// submodule is a part of the model, such as model.transformer.h or one of its blocks. Scripts freeze them, add
// hooks, and replace their forward. There is one object for each, owned by the network.
type submodule struct {
	of       *network
	path     string
	outside  int              // number of references from outside the network
	detached bool             // it was replaced, so it no longer keeps the network alive
	orphans  []*shadow.Tensor // its parameters, if the network no longer has them
	own      dict             // attributes set on it, such as a replaced forward
	around
}

// hold counts a reference from outside the network, which keeps the network alive.
func (m *submodule) hold() {
	if m.outside == 0 && !m.detached {
		m.of.hold()
	}
	m.outside++
}

func (m *submodule) release() {
	if m.outside--; m.outside > 0 {
		return
	}
	if m.detached {
		m.dropOrphans()
		return
	}
	m.of.release()
}

// Module is a module inside a model.
type Module struct {
	Path string // its path in the model
	Kind string // its class, if it is in torch.nn or Conv1D
}

// at returns the submodule at a path.
func (n *network) at(path string) *submodule {
	m := n.lent(path)
	m.hold()
	return m
}

// lent borrows the submodule at a path.
func (n *network) lent(path string) *submodule {
	m, ok := n.parts[path]
	if !ok {
		m = &submodule{of: n, path: path}
		if n.parts == nil {
			n.parts = map[string]*submodule{}
		}
		n.parts[path] = m
	}
	return m
}

// part returns the outermost submodule with a name, or false if it has no parameters.
func (n *network) part(in *interpreter, name string) (value, bool) {
	best, depth := "", 0
	for _, p := range n.names(in) {
		steps := strings.Split(p, ".")
		for i, s := range steps[:len(steps)-1] {
			if s == name && (best == "" || i < depth) {
				best, depth = strings.Join(steps[:i+1], "."), i
			}
		}
	}
	if best == "" {
		return n.tiedOutput(in, name)
	}
	return hold(n.module(best)), true
}

// tiedOutput returns the output layer if it has no parameters of its own.
func (n *network) tiedOutput(in *interpreter, name string) (value, bool) {
	if outputs[name] {
		for _, m := range n.made(in).Modules() {
			if m.Path == name {
				return hold(n.module(name)), true
			}
		}
	}
	return nil, false
}

// names lists the names of the model's parameters, even before it is on the card.
func (n *network) names(in *interpreter) []string {
	if n.known == nil && in.NamesOf != nil {
		n.known = in.NamesOf(n.loading)
	}
	return n.known
}

// base returns the path of the model without its head, or "" if the model is not divided.
func (n *network) base(in *interpreter) string {
	names := n.names(in)
	if len(names) == 0 || n.adapted {
		return ""
	}
	if first, _, ok := strings.Cut(names[0], "."); ok && family.IsBase(first) {
		return first
	}
	return ""
}

// modules lists the modules inside the module at a path; "" means the model.
func (n *network) modules(in *interpreter, path string) (out []Module) {
	for _, m := range n.made(in).Modules() {
		if path == "" || strings.HasPrefix(m.Path, path+".") {
			out = append(out, m)
		}
	}
	return out
}

// kind returns the class of the module, or "" if it is one of the model's own classes.
func (m *submodule) kind(in *interpreter) string {
	for _, x := range m.of.made(in).Modules() {
		if x.Path == m.path {
			return x.Kind
		}
	}
	return ""
}

// has reports whether a parameter belongs to the submodule.
func (m *submodule) has(parameter string) bool { return strings.HasPrefix(parameter, m.path+".") }

// parameters returns the parameters of the submodule.
func (m *submodule) parameters(in *interpreter) (out []*shadow.Tensor) {
	for _, p := range m.of.made(in).Parameters() {
		if m.has(p.Name()) {
			out = append(out, p)
		}
	}
	if w := m.of.made(in).Weight(m.path); w != nil && len(out) == 0 { // the weight is shared with another module
		return []*shadow.Tensor{w}
	}
	return out
}

func (m *submodule) attr(in *interpreter, name string) (value, bool) {
	if v, ok := m.own.get(name); ok {
		return hold(v), true
	}
	inner := m.path + "." + name
	if r := m.of.replacement(inner); r != nil {
		return hold(r.by), true
	}
	for _, t := range m.orphans {
		if _, last, _ := cutLast(t.Name()); last == name {
			return t.Hold(), true
		}
	}
	for _, p := range m.of.names(in) {
		if strings.HasPrefix(p, inner+".") {
			return hold(m.of.module(inner)), true
		}
	}
	for _, p := range m.of.made(in).Parameters() {
		if p.Name() == inner {
			return p.Hold(), true
		}
	}
	switch name {
	case "weight":
		if w := m.of.made(in).Weight(m.path); w != nil {
			return w.Hold(), true
		}
	case "bias":
		return nil, m.kind(in) != ""
	case "training":
		return !m.evaluates(), true
	case "_modules":
		return &modulesDict{hold(m)}, true
	case "config", "device", "dtype":
		return m.of.attr(in, name)
	case "in_features", "out_features", "num_embeddings", "embedding_dim":
		return m.features(in, name)
	}
	return nil, false
}

// features returns a size attribute of a Linear or Embedding.
func (m *submodule) features(in *interpreter, name string) (value, bool) {
	w, kind := m.of.made(in).Weight(m.path), m.kind(in)
	if w == nil || w.Dim() != 2 {
		return nil, false
	}
	first := name == "num_embeddings" || name == "out_features"
	if first == (kind != "Conv1D") {
		return w.Size(0), true
	}
	return w.Size(1), true
}

// blocks returns the number of numbered modules in a submodule: the length of a list of layers.
func (m *submodule) blocks(in *interpreter) int {
	n := 0
	for _, p := range m.of.names(in) {
		if rest, ok := strings.CutPrefix(p, m.path+"."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(number); err == nil {
				n = max(n, i+1)
			}
		}
	}
	return n
}

// list returns the blocks as a list.
func (m *submodule) list(in *interpreter) *list {
	out := &list{}
	for i := range m.blocks(in) {
		out.items = append(out.items, hold(m.of.module(m.path+"."+strconv.Itoa(i))))
	}
	return out
}
