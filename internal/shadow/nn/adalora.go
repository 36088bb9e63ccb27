// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// AdaLoRA in PEFT 0.21 (tuners/adalora): low-rank matrices with singular values between them, and a loss that keeps
// the matrices orthogonal. update_and_allocate, which a training loop may call to lower ranks, only writes zeros.

// adalora is what AdaLoRA adds to a layer. The rank is a parameter too. PEFT does not mean to train it, but does so
// if it had to move the layer's parameters to the card or cast them, because both create new parameters, which are
// trained by default.
type adalora struct {
	a, b, values, rank *shadow.Tensor // (r, In), (Out, r), (r, 1), (1)
	drop               float64
	views              bool // the layer has a bias, so a result of more than two dimensions is a view of a matrix
}

func newAdaLora(b *Builder, lin *Linear, l Lora) tuner {
	at := lin.At()
	a := &adalora{
		drop:   l.Dropout,
		views:  lin.Bias != nil && !lin.Unfused,
		a:      b.Parameter(at+".lora_A", l.Rank, lin.In),
		b:      b.Parameter(at+".lora_B", lin.Out, l.Rank),
		values: b.Parameter(at+".lora_E", l.Rank, 1),
		rank:   b.Parameter(at+".ranknum", 1),
	}
	a.rank.SetTrained(lin.Weight.Here() || lin.Weight.DType() != shadow.Float32)
	return a
}

func (a *adalora) parameters() []*shadow.Tensor {
	return []*shadow.Tensor{a.a, a.b, a.values, a.rank}
}

// forward is SVDLinear.forward.
func (a *adalora) forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	result := fn.Let(base(x))
	rank := fn.Let(a.rank.AddScalar())
	fn.Set(&x, x.To(a.a.DType()))
	dropped := x.Dropout(a.drop)
	delta := dropped.Matmul(a.a.Mul(a.values).T()).Matmul(a.b.T()).MulScalar().Div(rank)
	if a.views && result.Dim() > 2 {
		result.AddIntoView(delta)
	} else {
		result.AddInto(delta)
	}
	return result
}

// Orthogonal adds AdaLoRA's regularization to a loss (AdaLoraModel.forward).
func (b *Builder) Orthogonal(loss *shadow.Tensor) {
	fn := b.W.Func(loss)
	var product, eye, sum *shadow.Tensor
	for _, m := range b.layers {
		lin, ok := m.(*Linear)
		if !ok || lin.tuner == nil {
			continue
		}
		a := lin.tuner.(*adalora)
		for i := range 2 {
			if i == 0 {
				fn.Set(&product, a.a.Matmul(a.a.T()))
			} else {
				fn.Set(&product, a.b.T().Matmul(a.b))
			}
			fn.Set(&eye, product.EmptyLike(product.DType()))
			norm := product.Sub(eye).NormAll()
			if sum == nil {
				fn.Set(&sum, norm.AddScalar())
			} else {
				sum.AddInto(norm)
			}
		}
	}
	fn.Set(&sum, sum.DivScalar())
	loss.AddInto(sum.MulScalar())
	fn.Return(nil)
}
