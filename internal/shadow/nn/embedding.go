// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"

	"snug/internal/shadow"
)

// Embedding is nn.Embedding.
type Embedding struct {
	shadow.Path
	Weight *shadow.Tensor // (vocabulary, width)
	Scale  *shadow.Tensor // multiplies the rows, if set (Gemma)
	grads  bool           // the output requires a gradient
	noise  bool           // noise is added to the output in training (NEFTune)
}

// Embedding makes an nn.Embedding.
func (b *Builder) Embedding(at string, rows, width int) *Embedding {
	e := &Embedding{Path: shadow.Path(at), Weight: b.Parameter(at+".weight", rows, width)}
	if b.inputs == nil {
		b.inputs = e
	}
	b.layers = append(b.layers, e)
	return e
}

// OfEmbedding reports whether a parameter is the weight of an nn.Embedding.
func (b *Builder) OfEmbedding(p *shadow.Tensor) bool {
	return slices.ContainsFunc(b.layers, func(m any) bool {
		e, ok := m.(*Embedding)
		return ok && e.Weight == p
	})
}

// Call is embedding(ids). A model that is given inputs_embeds has them in place of the ids, and does not call the module.
func (e *Embedding) Call(ids *shadow.Tensor) *shadow.Tensor {
	if ids.DType().Floating() {
		return ids
	}
	return ids.World().Call(e, ids)
}

// Forward is nn.Embedding.forward.
func (e *Embedding) Forward(fn *shadow.Frame, ids *shadow.Tensor) *shadow.Tensor {
	out := ids.Embedding(e.Weight)
	if e.Scale != nil {
		out = out.Mul(e.Scale)
	}
	if e.grads && !out.RequiresGrad() && out.World().GradEnabled() {
		out.SetTrained(true)
	}
	if e.noise && !out.World().Eval {
		out = out.AddOf(func() *shadow.Tensor { return out.EmptyLike(out.DType()) })
	}
	return out
}
