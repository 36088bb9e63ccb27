// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// IA3 in PEFT 0.21 (tuners/ia3/layer.py): each target has one trained vector, which scales the layer's output, or its
// input if the target is a feedforward layer.

// ia3 is the vector of a layer.
type ia3 struct {
	vector      *shadow.Tensor // (Out, 1), or (1, In) for a feedforward layer
	feedforward bool
}

// addIA3 makes the vectors, in the weights' type; they are cast to float32 afterwards.
func (b *Builder) addIA3(layers []any, l Lora) {
	for _, m := range layers {
		lin, ok := m.(*Linear)
		if !ok || !l.adapts(lin.At()) || l.saves(lin.At()) {
			continue
		}
		lin.ia3 = &ia3{feedforward: Lora{Targets: l.Feedforward}.adapts(lin.At())}
		rows, columns := lin.Out, 1
		if lin.ia3.feedforward {
			rows, columns = 1, lin.In
		}
		was := b.DType
		b.DType = lin.Weight.DType()
		lin.ia3.vector = b.Parameter(lin.At()+".ia3_l", rows, columns)
		b.DType = was
		moveInside("base", lin.Weight)
		moveInside("base", lin.Bias)
	}
	b.save(layers, l)
	for _, m := range layers {
		if lin, ok := m.(*Linear); ok && lin.ia3 != nil {
			lin.ia3.vector.CastInPlace(shadow.Float32)
		}
	}
}

// forward is Linear.forward. base runs the layer itself.
func (a *ia3) forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	scaling := fn.Let(a.vector.View(-1).MulScalar()) // 1 * self.ia3_l.flatten()
	if a.feedforward {
		previous := x.DType()
		fn.Set(&x, x.To(a.vector.DType()))
		scaled := fn.Let(x.Mul(scaling).To(previous))
		return base(scaled)
	}
	result := fn.Let(base(x))
	dtype := result.DType()
	fn.Set(&result, result.Mul(scaling).To(dtype))
	return result
}
