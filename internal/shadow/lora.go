// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"slices"
	"strings"
)

// Lora says which linear layers get low-rank adapters. Everything else is
// frozen.
type Lora struct {
	Rank    int
	Dropout float64
	Targets map[string]bool // the end of a module's path: c_proj, mlp.c_proj
}

// adapts tells whether a target names the module at a path, as PEFT matches a
// list of them: by whole names, from the end.
func (l Lora) adapts(at string) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] == '.' && l.Targets[at[i+1:]] {
			return true
		}
	}
	return l.Targets[at]
}

// adapter is the pair of small matrices beside a frozen Linear.
type adapter struct {
	a, b *Linear
	drop float64
}

// AddLora freezes a model and puts adapters around the linear layers that l
// names, in the order of the model's modules. Adapters are made in float32 and
// moved to the GPU all together; a 16-bit model is then cast as a whole, which
// reaches them and the buffers that were kept in float32.
func (b *Builder) AddLora(l Lora) {
	for _, p := range b.all {
		p.needs, p.leaf = false, false
	}
	layers, dtype := b.layers, b.DType
	b.DType = Float32
	for _, m := range layers {
		if lin, ok := m.(*Linear); ok && l.adapts(lin.At()) {
			lin.lora = &adapter{
				a:    b.Linear(lin.At()+".A", lin.In, l.Rank, false),
				b:    b.Linear(lin.At()+".B", l.Rank, lin.Out, false),
				drop: l.Dropout,
			}
			moveInside(lin.Weight)
			moveInside(lin.Bias)
		}
	}
	b.DType = dtype
	if dtype.Half() {
		b.castLora(layers, dtype)
	}
}

// LinearNames is what targets can name: the last names of the linear layers, each
// once, in the order of the model's modules.
func (b *Builder) LinearNames() []string {
	var out []string
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && !slices.Contains(out, lastName(lin.At())) {
			out = append(out, lastName(lin.At()))
		}
	}
	return out
}

// moveInside renames a parameter of a layer that is now the module base of
// another, beside its adapters.
func moveInside(p *Tensor) {
	if p != nil {
		own := lastName(p.name)
		p.name = strings.TrimSuffix(p.name, own) + "base." + own
	}
}

// castLora is model.to(dtype) for what is not of that type yet.
func (b *Builder) castLora(layers []any, dt DType) {
	for _, m := range layers {
		switch m := m.(type) {
		case *Linear:
			if m.lora != nil {
				m.lora.a.Weight.castInPlace(dt)
				m.lora.b.Weight.castInPlace(dt)
			}
		case *Tensor:
			m.castInPlace(dt)
		}
	}
}

// castInPlace is t.data = t.data.to(dtype) where t is of another floating type:
// the copy exists before the old memory goes.
func (t *Tensor) castInPlace(dt DType) {
	if t.dead || !t.dtype.Floating() || t.dtype == dt {
		return
	}
	w := t.w
	was, path := w.component, w.path
	w.component, w.path = Parameters, []string{t.name}
	old := t.mem
	t.dtype = dt
	t.mem = w.alloc(t.Bytes())
	w.release2(old)
	w.component, w.path = was, path
}

// EnableInputRequireGrads makes the output of the input embedding a leaf that
// requires a gradient, so that checkpointed layers over frozen weights have
// something to go back to.
func (b *Builder) EnableInputRequireGrads() {
	if b.inputs != nil {
		b.inputs.grads = true
	}
}

func lastName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i+1:]
		}
	}
	return path
}

// forward is base(x) + B(A(drop(x))) * scale.
func (ad *adapter) forward(x, base *Tensor) *Tensor {
	w := x.w
	mark := w.pin(base)
	out := base.Add(ad.b.Call(ad.a.Call(x.Dropout(ad.drop))).MulScalar())
	w.unpin(mark)
	return out
}
