// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// VeRA in PEFT 0.21 (tuners/vera): all layers share one pair of frozen random matrices, as large as the largest layer
// needs. Each layer trains two vectors that scale them.

// vera is what VeRA adds to a layer.
type vera struct {
	of           *Linear
	b, d         *shadow.Tensor // trained: (Out), (r)
	shared       *veraMatrices
	drop         float64
	withMatrices bool // the matrices were moved to the card with this layer
}

// veraMatrices are the shared matrices: (r, largest In) and (largest Out, r).
type veraMatrices struct{ a, b *shadow.Tensor }

// addVera makes the vectors and, with those of the first layer, the matrices.
func addVera(b *Builder, targets []*Linear, l Lora) {
	in, out := 0, 0
	for _, lin := range targets {
		in, out = max(in, lin.In), max(out, lin.Out)
	}
	shared := &veraMatrices{}
	for i, lin := range targets {
		b.inTypeOf(lin, func() {
			v := &vera{of: lin, shared: shared, drop: l.Dropout, withMatrices: i == 0}
			v.b = b.Parameter(lin.At()+".vera_lambda_b", lin.Out)
			v.d = b.Parameter(lin.At()+".vera_lambda_d", l.Rank)
			if i == 0 {
				shared.a, shared.b = b.Buffer(b.DType, l.Rank, in), b.Buffer(b.DType, out, l.Rank)
			}
			lin.tuner = v
		})
	}
}

func (v *vera) parameters() []*shadow.Tensor {
	if v.withMatrices {
		return []*shadow.Tensor{v.b, v.d, v.shared.a, v.shared.b}
	}
	return []*shadow.Tensor{v.b, v.d}
}

// forward is Linear.forward.
func (v *vera) forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	previous := x.DType()
	result := fn.Let(base(x))
	dtype := result.DType()
	a := fn.Let(v.shared.a.Slice(1, 0, v.of.In))
	b := fn.Let(v.shared.b.Slice(0, 0, v.of.Out))
	fn.Set(&x, x.To(v.d.DType()))
	inner := v.d.Mul(x.Dropout(v.drop).Linear(a, nil))
	fn.Set(&result, result.Add(v.b.Mul(inner.Linear(b, nil))))
	fn.Set(&result, result.To(dtype))
	fn.Set(&result, result.To(previous))
	return result
}
