// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// PEFT's modules_to_save copies a layer, in its own type, and trains the copy in its place. The original stays,
// frozen, and other layers continue to share its weight (peft/utils/other.py, ModulesToSaveWrapper, 0.21).

// saves reports whether modules_to_save names the module at a path, or one that contains it.
func (l Lora) saves(at string) bool {
	return slices.ContainsFunc(l.Save, func(name string) bool { return Named(at, name) })
}

// Named reports whether a name in modules_to_save matches the module at a path. PEFT compares suffixes, as
// strings, of the path and of the paths of enclosing modules.
func Named(at, name string) bool {
	return strings.HasSuffix(at, name) || strings.Contains(at, name+".")
}

// save makes the copies, after the adapters.
func (b *Builder) save(layers []any, l Lora) {
	for _, m := range layers {
		switch m := m.(type) {
		case *Linear:
			if l.saves(m.At()) {
				m.Weight, m.Bias = b.saved(m.At(), m.Weight), b.saved(m.At(), m.Bias)
			}
		case *Embedding:
			if l.saves(m.At()) {
				m.Weight = b.saved(m.At(), m.Weight)
			}
		}
	}
}

// saved returns the copy of a parameter of the layer at a path.
func (b *Builder) saved(at string, p *shadow.Tensor) *shadow.Tensor {
	if p == nil {
		return nil
	}
	own := lastName(p.Name())
	if p.Name() == b.prefix+at+"."+own { // the parameter is the layer's own, not shared
		moveInside("original", p)
	}
	was := b.DType
	b.DType = p.DType()
	c := b.parameter(at+".saved."+own, p.Shape())
	b.DType = was
	return c
}

// Saves reports whether name is a layer that can be trained in full, or a module that contains only layers of
// that kind.
func (b *Builder) Saves(name string) bool {
	layers := map[string]bool{}
	for _, m := range b.layers {
		switch m := m.(type) {
		case *Linear:
			layers[m.At()] = layers[m.At()] || Named(m.At(), name)
		case *Embedding:
			layers[m.At()] = layers[m.At()] || Named(m.At(), name)
		}
	}
	found := false
	for _, named := range layers {
		found = found || named
	}
	return found && !slices.ContainsFunc(b.all, func(p *shadow.Tensor) bool {
		path := strings.TrimPrefix(p.Name(), b.prefix)
		at := strings.TrimSuffix(path, "."+lastName(path))
		_, layer := layers[at]
		return Named(at, name) && !layer
	})
}
