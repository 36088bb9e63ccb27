// SPDX-License-Identifier: Apache-2.0

package shadow

// Cdist is torch.cdist(t, o, p): the distances (…, P, R) of the rows of t (…, P, D) from those of o (…, R, D). By products
// means p = 2 and more than 25 rows, for which the distances are computed with a matrix product.
func (t *Tensor) Cdist(o *Tensor, products bool) *Tensor {
	w := t.w
	n := w.record("CdistBackward0", t, o)
	a, b := n.save(t), n.save(o)
	mark := w.pin(t)
	w.pin(o)
	var out *Tensor
	if products {
		out = euclidean(t, o)
	} else {
		w.Op("_cdist_forward")
		out = w.Empty(distancesOf(t, o), t.dtype)
		w.Launch(out, t, o)
	}
	w.unpin(mark)
	n.backward(func(g *Tensor) []*Tensor {
		var da, db *Tensor
		x, y := a.get(), b.get()
		if n.needsGrad(0) {
			w.Op("_cdist_backward")
			da = w.Empty(x.size, x.dtype)
		}
		if n.needsGrad(1) {
			w.Op("_cdist_backward")
			db = w.Empty(y.size, y.dtype)
		}
		return inputGrads(da, db)
	})
	return n.result(out, t, o)
}

// distancesOf returns the shape of the distances between the rows of a and b.
func distancesOf(a, b *Tensor) Shape {
	d := append([]int{}, a.Sizes()[:a.size.n-1]...)
	return Dims(append(d, b.size.d[b.size.n-2])...)
}

// euclidean is _euclidean_dist: a product of the rows, to which their squared norms and ones are appended.
func euclidean(a, b *Tensor) *Tensor {
	w := a.w
	defer w.NoGrad()()
	fn := w.Func(a, b)
	extended := func(t *Tensor) *Tensor {
		inner := w.Func(t)
		norm := inner.Let(t.Pow().Sum(true, -1))
		ones := inner.Let(norm.EmptyLike(norm.dtype))
		return inner.Return(Cat(-1, t, norm, ones))
	}
	x := fn.Let(extended(a))
	y := fn.Let(extended(b))
	return fn.Return(x.Matmul(y.Transpose(-2, -1)))
}

// NanToNum is torch.nan_to_num(t).
func (t *Tensor) NanToNum() *Tensor {
	w := t.w
	n := w.record("NanToNumBackward0", t)
	self := n.save(t)
	out := t.Pointwise("nan_to_num", t.dtype)
	n.backward(func(g *Tensor) []*Tensor {
		finite := self.get().Pointwise("isfinite", Bool).Hold()
		dx := g.binary("mul", finite, g.dtype)
		finite.Drop()
		return inputGrads(dx)
	})
	return n.result(out, t)
}
