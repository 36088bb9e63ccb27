// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops that write elements to positions given by an index, with their gradients.

// Scatter is t.scatter(dim, index, source): a copy of t with elements of source; source is nil for a number.
func (t *Tensor) Scatter(index, source *Tensor) *Tensor {
	return t.scattered("scatter", index, source, func(g, index *Tensor) *Tensor { // grad.scatter(dim, index, 0)
		return g.Pointwise("scatter", g.dtype)
	})
}

// ScatterAdd is t.scatter_add(dim, index, source): a copy of t to which elements of source are added.
func (t *Tensor) ScatterAdd(index, source *Tensor) *Tensor {
	return t.scattered("scatter_add", index, source, func(g, _ *Tensor) *Tensor { return g })
}

func (t *Tensor) scattered(op string, index, source *Tensor, gradient func(g, index *Tensor) *Tensor) *Tensor {
	w := t.w
	n := w.record(op, t, source)
	at := n.save(index)
	out := t.Pointwise(op, t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return scatterGrads(n, g, at.get(), source != nil, gradient) })
	return n.result(out, t, index, source)
}

// scatterGrads returns the gradients of the tensor written to and of the source, which is gathered.
func scatterGrads(n *node, g, index *Tensor, source bool, gradient func(g, index *Tensor) *Tensor) []*Tensor {
	var dx, ds *Tensor
	if source && n.needsGrad(1) {
		g.w.Op("gather")
		ds = g.w.Empty(index.size, g.dtype)
		g.w.Launch(ds, index)
	}
	if n.needsGrad(0) {
		dx = gradient(g, index)
	}
	return inputGrads(dx, ds)
}

// ScatterInto is t.scatter_(dim, index, source) or t.scatter_add_; source is nil for a number.
func (t *Tensor) ScatterInto(op string, index, source *Tensor) {
	w := t.w
	n := w.record(op, t, source)
	at := n.save(index)
	w.Op(op + "_")
	w.Launch(t)
	n.backward(func(g *Tensor) []*Tensor {
		return scatterGrads(n, g, at.get(), source != nil, func(g, _ *Tensor) *Tensor {
			if op == "scatter_add" {
				return g
			}
			return g.Pointwise("scatter", g.dtype)
		})
	})
	n.rebase(t)
	dropTemporaries(index, source)
}

// IndexAdd is t.index_add(dim, index, source), into a copy of t. Memory does not depend on the dimension.
func (t *Tensor) IndexAdd(index, source *Tensor) *Tensor {
	w := t.w
	n := w.record("IndexAddBackward0", t, source)
	at := n.saveIf(n.needsGrad(1), index)
	n.saveIf(n.needsGrad(1), source) // for its shape
	w.Op("index_add")
	out := t.EmptyLike(t.dtype)
	w.Launch(out, source)
	rows := source.size
	n.backward(func(g *Tensor) []*Tensor {
		var ds *Tensor
		if at != nil {
			w.Op("index_select")
			ds = w.Empty(rows, g.dtype)
			w.Launch(ds, g)
		}
		return inputGrads(g, ds)
	})
	return n.result(out, t, index, source)
}

// Lerp is torch.lerp(t, end, number).
func (t *Tensor) Lerp(end *Tensor) *Tensor {
	n := t.w.record("LerpBackward0", t, end)
	out := t.binary("lerp", end, t.dtype)
	n.backward(func(g *Tensor) []*Tensor {
		var gs, ge *Tensor
		if n.needsGrad(0) {
			gs = g.MulScalar()
		}
		if n.needsGrad(1) {
			ge = g.MulScalar()
		}
		return inputGrads(gs, ge)
	})
	return n.result(out, t, end)
}
