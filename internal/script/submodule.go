// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strconv"
	"strings"

	"snug/internal/shadow"
)

// submodule is a part of the model, such as model.transformer.h or one of its blocks. Scripts freeze them.
type submodule struct {
	refs
	of   *network
	path string
}

func (m *submodule) release() {
	if m.last() {
		m.of.release()
	}
}

// within returns a part of a model, which it keeps alive.
func within(n *network, path string) *submodule {
	n.hold()
	return &submodule{of: n, path: path}
}

// part returns the submodule with this name, or false if it has no parameters.
func (n *network) part(in *interpreter, name string) (value, bool) {
	inside := func(p string) bool { return strings.HasPrefix(p, name+".") || strings.Contains(p, "."+name+".") }
	if !slices.ContainsFunc(n.names(in), inside) {
		return nil, false
	}
	return within(n, name), true
}

// names lists the names of the model's parameters, even before it is on the card.
func (n *network) names(in *interpreter) []string {
	if n.known == nil && in.NamesOf != nil {
		n.known = in.NamesOf(n.loading)
	}
	return n.known
}

// has reports whether a parameter belongs to the submodule.
func (m *submodule) has(parameter string) bool {
	return strings.HasPrefix(parameter, m.path+".") || strings.Contains(parameter, "."+m.path+".")
}

// parameters returns the parameters of the submodule.
func (m *submodule) parameters(in *interpreter) (out []*shadow.Tensor) {
	for _, p := range m.of.made(in).Parameters() {
		if m.has(p.Name()) {
			out = append(out, p)
		}
	}
	return out
}

func (m *submodule) attr(in *interpreter, name string) (value, bool) {
	inner := &submodule{path: m.path + "." + name}
	for _, p := range m.of.names(in) {
		if inner.has(p) {
			return within(m.of, inner.path), true
		}
	}
	for _, p := range m.of.made(in).Parameters() {
		if strings.HasSuffix(p.Name(), inner.path) && m.has(p.Name()) {
			return p.Hold(), true
		}
	}
	return nil, false
}

// blocks counts the numbered modules of a submodule: the length of a list of layers.
func (m *submodule) blocks(in *interpreter) int {
	n := 0
	for _, p := range m.of.names(in) {
		if _, rest, ok := strings.Cut("."+p, "."+m.path+"."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(number); err == nil {
				n = max(n, i+1)
			}
		}
	}
	return n
}

// block returns the i-th of them.
func (m *submodule) block(i int) value {
	return within(m.of, m.path+"."+strconv.Itoa(i))
}

// list returns the blocks as a list.
func (m *submodule) list(in *interpreter) *list {
	out := &list{}
	for i := range m.blocks(in) {
		out.items = append(out.items, m.block(i))
	}
	return out
}

func (m *submodule) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "parameters", "named_parameters":
		out := &list{}
		for _, p := range m.parameters(in) {
			if name == "parameters" {
				out.items = append(out.items, p.Hold())
				continue
			}
			out.items = append(out.items, tupleOf(p.Name(), p.Hold()))
		}
		return out
	case "requires_grad_":
		for _, p := range m.parameters(in) {
			requiresGrad(in, p, a).(*shadow.Tensor).Drop()
		}
	case "children", "modules":
		return m.list(in)
	}
	return hold(m)
}
