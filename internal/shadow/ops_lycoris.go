// SPDX-License-Identifier: Apache-2.0

package shadow

// HadaWeight is the autograd function of LoHa: (w1a @ w1b) * (w2a @ w2b) * a number. It keeps only its arguments, and
// computes the products again in the backward pass (PEFT 0.21, tuners/loha/layer.py).
func HadaWeight(w1a, w1b, w2a, w2b *Tensor) *Tensor {
	w := w1a.w
	n := w.record("HadaWeight", w1a, w1b, w2a, w2b)
	enable := w.NoGrad()
	out := w1a.Matmul(w1b).Mul(w2a.Matmul(w2b)).MulScalar()
	enable()
	for _, t := range []*Tensor{w1a, w1b, w2a, w2b} {
		n.save(t)
	}
	n.backward(func(g *Tensor) []*Tensor {
		fn := w.Func()
		g = fn.Let(g.MulScalar())
		temp := fn.Let(g.Mul(w2a.Matmul(w2b)))
		g1a, g1b := temp.Matmul(w1b.T()).Hold(), w1a.T().Matmul(temp).Hold()
		fn.Set(&temp, g.Mul(w1a.Matmul(w1b)))
		g2a, g2b := temp.Matmul(w2b.T()).Hold(), w2a.T().Matmul(temp).Hold()
		fn.Set(&temp, nil)
		fn.Return(nil)
		return inputGrads(g1a.loosen(), g1b.loosen(), g2a.loosen(), g2b.loosen())
	})
	return n.result(out, w1a, w1b, w2a, w2b)
}

// UpperTriangle writes each row of t into the upper triangle of a matrix of zeros, as matrix[:, rows, columns] = t does.
func (t *Tensor) UpperTriangle(side int) *Tensor {
	n := t.w.record("IndexPutBackward0", t)
	t.w.Op("zeros")
	out := t.w.Empty(Dims(t.size.d[0], side, side), t.dtype)
	t.w.Launch(out, t)
	size, dt := t.size, t.dtype
	n.backward(func(g *Tensor) []*Tensor {
		g.w.Op("index")
		gs := g.w.Empty(size, dt)
		g.w.Launch(gs, g)
		return inputGrads(gs)
	})
	return n.result(out, t)
}
