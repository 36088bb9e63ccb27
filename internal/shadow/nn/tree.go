// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"strconv"

	"snug/internal/shadow"
)

// ModuleAt is a module of a model, as named_modules() lists it.
type ModuleAt struct {
	Path string // its path in the model
	Kind string // class in torch.nn or transformers: "Linear", "ModuleList"; "" for one of the model's own classes
}

// Modules lists the submodules that have parameters or buffers, outer ones first, in the order in which they were
// made. Dropouts and activations are not included.
func (b *Builder) Modules() []ModuleAt {
	root := b.modules()
	kinds := b.kinds()
	for _, t := range b.tied { // add modules that share another module's weight
		root.of(t.At + ".weight")
	}
	var out []ModuleAt
	var visit func(m *scope, path string)
	visit = func(m *scope, path string) {
		for _, c := range m.inner {
			at := path + c.name
			kind := kinds[at]
			if kind == "" && c.isList() {
				kind = "ModuleList"
			}
			out = append(out, ModuleAt{at, kind})
			visit(c, at+".")
		}
	}
	visit(root, "")
	return out
}

// isList reports whether the modules inside m are numbered.
func (m *scope) isList() bool {
	for _, c := range m.inner {
		if _, err := strconv.Atoi(c.name); err != nil {
			return false
		}
	}
	return len(m.inner) > 0 && len(m.own) == 0
}

// kinds maps the paths of layers to their classes.
func (b *Builder) kinds() map[string]string {
	out := map[string]string{}
	for _, m := range b.layers {
		switch l := m.(type) {
		case *Linear:
			out[b.prefix+l.At()] = map[bool]string{false: "Linear", true: "Conv1D"}[l.flipped]
		case *Embedding:
			out[b.prefix+l.At()] = "Embedding"
		}
	}
	for _, p := range b.norms {
		out[OwnerOf(p.Name())] = "LayerNorm"
	}
	return out
}

// LayerAt returns the Linear, Conv1D or Embedding at a path, or nil if there is none.
func (b *Builder) LayerAt(path string) shadow.Module {
	for _, m := range b.layers {
		switch l := m.(type) {
		case *Linear:
			if b.prefix+l.At() == path {
				return l.module()
			}
		case *Embedding:
			if b.prefix+l.At() == path {
				return l
			}
		}
	}
	return nil
}

// module returns the module that runs the layer, which for a transposed weight is a Conv1D.
func (l *Linear) module() shadow.Module {
	if l.flipped {
		return &Conv1D{*l}
	}
	return l
}
