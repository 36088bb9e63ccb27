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

// newIA3 makes the vector of a layer.
func newIA3(b *Builder, lin *Linear, l Lora) tuner {
	a := &ia3{feedforward: Lora{Targets: l.Feedforward}.adapts(lin.At())}
	rows, columns := lin.Out, 1
	if a.feedforward {
		rows, columns = 1, lin.In
	}
	a.vector = b.Parameter(lin.At()+".ia3_l", rows, columns)
	return a
}

func (a *ia3) parameters() []*shadow.Tensor { return []*shadow.Tensor{a.vector} }

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
