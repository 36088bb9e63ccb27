// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"

	"snug/internal/shadow"
)

// DoRA trains the length of each weight row in addition to the direction that LoRA trains (DoraLinearLayer in
// peft/tuners/lora/dora.py, 0.21). It recomputes the whole weight in each forward, in the adapters' type, which
// takes most of the memory: B(A(1)) for an identity matrix, a copy of the weight, and their sum.

// magnitude returns the trained lengths, one per row. update_layer computes them in the
// weight's type, from the weight and the product of the adapters. This is the first matrix product on the GPU, so
// cuBLAS allocates its workspace here.
func (b *Builder) magnitude(lin *Linear, ad *adapter) *shadow.Tensor {
	defer b.W.NoGrad()()
	delta := ad.b.Weight.Mm(ad.a.Weight).Hold()
	sum := ad.rows(lin.Weight).Add(delta.MulScalar()).Hold()
	p := b.Parameter(lin.At()+".magnitude.weight", lin.Out)
	sum.NormInto(p, 1)
	delta.Drop()
	sum.Drop()
	return p
}

// dora adds DoRA's part to a layer's result (DoraLinearVariant.forward in variants.py). With dropout, the layer's
// own part is computed again from the dropped-out x.
func (ad *adapter) dora(x, result *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x, result)
	base := result
	if ad.drop > 0 {
		fn.Set(&x, x.Dropout(ad.drop))
		base = nil
	}
	return fn.Return(result.Add(ad.doraDelta(x, base)))
}

// doraDelta is DoraLinearLayer.forward.
func (ad *adapter) doraDelta(x, base *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x, base)
	delta := ad.product(x.World())
	fn.Set(&delta, delta.To(x.DType()))
	weight := ad.of.Weight
	fn.Set(&weight, weight.To(x.DType()))
	norm := ad.norm(weight, delta.Detach())
	fn.Set(&norm, norm.Detach())
	scale := fn.Let(ad.lengths.Div(norm).View(1, -1))
	lora := fn.Let(ad.b.Call(ad.a.Call(x)))
	switch {
	case base == nil:
		fn.Set(&base, x.Linear(ad.rows(weight), nil))
	case ad.of.Bias != nil:
		fn.Set(&base, base.Sub(ad.of.Bias))
	}
	return fn.Return(scale.AddScalar().Mul(base).Add(scale.Mul(lora).MulScalar()))
}

// product is get_lora_weight: it computes the adapters' product by running their forward.
func (ad *adapter) product(w *shadow.World) *shadow.Tensor {
	fn := w.Func()
	w.Op("eye")
	eye := fn.Let(w.Empty(shadow.Dims(ad.of.In, ad.of.In), ad.a.Weight.DType()))
	return fn.Return(ad.b.Call(ad.a.Call(eye)).T())
}

// norm is get_weight_norm: the length of each row.
func (ad *adapter) norm(weight, delta *shadow.Tensor) *shadow.Tensor {
	fn := weight.World().Func(weight, delta)
	rows := ad.rows(weight)
	fn.Set(&weight, rows)
	fn.Set(&weight, weight.Add(delta.MulScalar()))
	return fn.Return(fn.Let(weight.Norm(1)))
}

// TrainsCopies reports whether the run would hit a bug in PEFT: with dropout, the transposed weight of a
// Conv1D becomes a Parameter with its own gradient. That is not simulated.
func (b *Builder) TrainsCopies(l Lora) bool {
	return l.DoRA && l.Dropout > 0 && slices.ContainsFunc(b.layers, func(m any) bool {
		lin, ok := m.(*Linear)
		return ok && lin.flipped && lin.Weight.DType() == shadow.Float32 && l.adapts(lin.At())
	})
}

// rows returns a weight in nn.Linear's orientation.
func (ad *adapter) rows(weight *shadow.Tensor) *shadow.Tensor {
	if ad.of.flipped {
		return weight.T()
	}
	return weight
}
