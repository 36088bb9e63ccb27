// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// LoHa and LoKr in PEFT 0.21 (tuners/lycoris_utils.py, loha and lokr): a layer's whole weight gets an update that is
// computed from small matrices in every forward.

// lycoris is what LoHa or LoKr adds to a layer.
type lycoris struct {
	of     *Linear
	all    []*shadow.Tensor
	weight func() *shadow.Tensor // get_delta_weight, (Out, In)
}

func (a *lycoris) parameters() []*shadow.Tensor { return a.all }

// forward is LoHaLayer.forward and LoKrLayer.forward.
func (a *lycoris) forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	previous := x.DType()
	result := fn.Let(base(x))
	fn.Set(&result, result.Add(a.delta(x)))
	fn.Set(&result, result.To(previous))
	return result
}

// delta is _get_delta_activations.
func (a *lycoris) delta(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	weight := fn.Let(a.weight())
	fn.Set(&x, x.To(weight.DType()))
	return fn.Return(x.Linear(weight, nil))
}

// newLoHa makes the four matrices of LoHa: the update is the elementwise product of two low-rank products.
func newLoHa(b *Builder, lin *Linear, l Lora) tuner {
	at := lin.At()
	w1a, w1b := b.Parameter(at+".hada_w1_a", lin.Out, l.Rank), b.Parameter(at+".hada_w1_b", l.Rank, lin.In)
	w2a, w2b := b.Parameter(at+".hada_w2_a", lin.Out, l.Rank), b.Parameter(at+".hada_w2_b", l.Rank, lin.In)
	return &lycoris{of: lin, all: []*shadow.Tensor{w1a, w1b, w2a, w2b}, weight: func() *shadow.Tensor {
		fn := b.W.Func()
		weight := fn.Let(shadow.HadaWeight(w1a, w1b, w2a, w2b))
		fn.Set(&weight, weight.View(lin.Out, lin.In))
		return fn.Return(weight)
	}}
}

// newLoKr makes the matrices of LoKr: the update is a Kronecker product. The second factor is a low-rank product if the rank is
// less than half of its larger side.
func newLoKr(b *Builder, lin *Linear, l Lora) tuner {
	inM, inN := factors(lin.In)
	outL, outK := factors(lin.Out)
	w1 := b.Parameter(lin.At()+".lokr_w1", outL, inM)
	a := &lycoris{of: lin, all: []*shadow.Tensor{w1}}
	var second func() *shadow.Tensor
	if 2*l.Rank < max(outK, inN) {
		w2a, w2b := b.Parameter(lin.At()+".lokr_w2_a", outK, l.Rank), b.Parameter(lin.At()+".lokr_w2_b", l.Rank, inN)
		a.all = append(a.all, w2a, w2b)
		second = func() *shadow.Tensor { return w2a.Matmul(w2b) }
	} else {
		w2 := b.Parameter(lin.At()+".lokr_w2", outK, inN)
		a.all = append(a.all, w2)
		second = func() *shadow.Tensor { return w2 }
	}
	a.weight = func() *shadow.Tensor {
		fn := b.W.Func()
		w2 := fn.Let(second())
		weight := fn.Let(kron(w1, w2, lin))
		fn.Set(&weight, weight.View(lin.Out, lin.In))
		return fn.Return(weight)
	}
	return a
}

// kron is make_kron.
func kron(w1, w2 *shadow.Tensor, lin *Linear) *shadow.Tensor {
	fn := w1.World().Func(w1, w2)
	product := w1.View(w1.Size(0), 1, w1.Size(1), 1).Mul(w2.View(1, w2.Size(0), 1, w2.Size(1)))
	rebuilt := fn.Let(product.View(lin.Out, lin.In))
	return fn.Return(rebuilt.MulScalar())
}

// factors is factorization: the two factors of n that are nearest to each other, the smaller one first.
func factors(n int) (small, large int) {
	small, large = 1, n
	for m := 2; m*m <= n; m++ {
		if n%m == 0 {
			small, large = m, n/m
		}
	}
	return small, large
}
