// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Ops that select elements, with their gradients: index_select, gather (Pick), indexing, max and min, one_hot.
// Others are in ops_index.go, ops_masked.go and ops_where.go.

// intoZeros returns zeros of a given shape with g written into them.
func (g *Tensor) intoZeros(op string, size Shape) *Tensor {
	g.w.Op("new_zeros")
	zeros := g.w.Empty(size, g.dtype)
	g.w.Launch(zeros, g)
	return g.w.unlessInPlace(op, zeros)
}

// IndexSelect is torch.index_select(t, dim, index).
func (t *Tensor) IndexSelect(dim int, index *Tensor) *Tensor {
	w := t.w
	n := w.record("IndexSelectBackward0", t)
	n.save(index)
	w.Op("index_select")
	out := w.Empty(t.size.With(t.size.at(dim), index.Numel()), t.dtype)
	w.Launch(out, out)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.intoZeros("index_add", from)) })
	return n.result(out, t, index)
}

// Pick is torch.gather(t, -1, index) with a gradient, which is scattered into zeros.
func (t *Tensor) Pick(index *Tensor) *Tensor {
	w := t.w
	n := w.record("GatherBackward0", t)
	n.save(t) // gather_backward needs t's shape
	n.save(index)
	w.Op("gather")
	out := w.Empty(index.size, t.dtype)
	w.Launch(out, index)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // grad.new_zeros(sizes).scatter_add_(dim, index, grad)
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype)
		w.Launch(zeros, g)
		return inputGrads(w.unlessInPlace("scatter_add", zeros))
	})
	return n.result(out, t, index)
}

// IndexAt is t[…, i, j, …] with integer indices, starting at dimension dim. Its gradient is added into zeros.
func (t *Tensor) IndexAt(dim int, index ...*Tensor) *Tensor {
	w := t.w
	n := w.record("IndexBackward0", t)
	for _, i := range index {
		n.save(i)
	}
	at := index[0].size
	for _, i := range index[1:] {
		at = broadcast(at, i.size)
	}
	rows, from := 1, t.size
	for k := range index {
		rows *= t.size.d[dim+k]
	}
	out := w.indexed(t, dim, at, index)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype).Hold()
		w.Launch(zeros, g)
		out := w.unlessInPlace("index_put", zeros).Hold()
		w.indexPut(len(index), at.Numel(), rows, g)
		zeros.Drop()
		return inputGrads(out.loosen())
	})
	return n.result(out, t)
}

// indexed allocates the result of indexing. Indices of different shapes are expanded by copying.
func (w *World) indexed(t *Tensor, dim int, at Shape, index []*Tensor) *Tensor {
	mark, same := w.pin(index...), true
	wide := make([]*Tensor, len(index))
	for k, i := range index {
		wide[k] = i.ExpandAs(at)
		w.pin(wide[k])
		same = same && wide[k].stride == wide[0].stride
	}
	w.Op("index")
	if !same {
		for _, i := range wide {
			w.pin(i.Contiguous())
		}
	}
	var size Shape
	for k := range dim {
		size = size.Append(t.size.d[k])
	}
	for k := range at.n {
		size = size.Append(at.d[k])
	}
	for k := dim + len(index); k < t.size.n; k++ {
		size = size.Append(t.size.d[k])
	}
	out := w.Empty(size, t.dtype)
	w.Launch(out, out)
	w.unpin(mark)
	return out
}

// PutMasked is t[mask] = values: the positions of the mask are computed first.
func (t *Tensor) PutMasked(mask *Tensor) {
	t.w.Op("index_put_")
	t.w.release(t.w.nonzero(mask, mask.Numel()))
}

// Extreme is t.max(dim) or t.min(dim): the values, and the indices that the gradient needs.
func (t *Tensor) Extreme(op string, keep bool, dim int) (values, indices *Tensor) {
	w := t.w
	n := w.record("MaxBackward0", t)
	dim = t.size.at(dim)
	size := t.size.Remove(dim)
	if keep {
		size = t.size.With(dim, 1)
	}
	w.Op(op)
	values, indices = w.Empty(size, t.dtype).Hold(), w.Empty(size, Int64).Hold()
	w.reduceScratch(kernel.ReduceIndex, t, t.dtype, []int{dim}, t.dtype)
	n.save(indices)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.intoZeros("scatter", from)) })
	n.output(values, 0)
	dropTemporaries(t)
	return values.loosen(), indices.loosen()
}

// ExtremeAll is t.max() or t.min(). All elements equal to the result share its gradient.
func (t *Tensor) ExtremeAll(op string) *Tensor {
	n := t.w.record("MaxBackward1", t)
	self := n.save(t)
	out := t.reduce("a"+op, allDims(t.size), false, t.dtype) // unlike max along a dimension, it keeps no indices
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor { // mask * (grad / mask.sum())
		x, v := self.get(), result.get()
		nan := x.Pointwise("isnan", Bool).Hold()
		none := v.Pointwise("isnan", Bool).Hold()
		mask := x.binary("eq", v, Bool).Hold()
		count := mask.reduce("sum", allDims(mask.size), false, Int64).Hold()
		share := g.Div(count).Hold()
		out := mask.binary("mul", share, g.dtype)
		for _, t := range []*Tensor{share, count, mask, none, nan} {
			t.Drop()
		}
		return inputGrads(out)
	})
	return n.result(out, t)
}

// Amax is torch.amax or amin over dimensions.
func (t *Tensor) Amax(op string, keep bool, dims ...int) *Tensor {
	n := t.w.record("AmaxBackward0", t)
	self := n.save(t)
	out := t.reduce(op, dims, keep, t.dtype)
	result := n.save(out)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // grad / mask.sum(dims, true) * mask
		wide, most := g.restoreKept(from, dims, keep).Hold(), result.get().restoreKept(from, dims, keep).Hold()
		mask := most.binary("eq", self.get(), Bool).Hold()
		count := mask.reduce("sum", dims, true, Int64).Hold()
		share := wide.Div(count).Hold()
		out := share.Mul(mask)
		for _, t := range []*Tensor{share, count, mask, most, wide} {
			t.Drop()
		}
		return inputGrads(out)
	})
	return n.result(out, t)
}

// restoreKept restores reduced dimensions as dimensions of size one.
func (g *Tensor) restoreKept(size Shape, dims []int, keep bool) *Tensor {
	out := g.alias(g.size, g.stride)
	if !keep {
		for _, d := range sortedDims(size, dims) {
			out = out.Unsqueeze(d)
		}
	}
	return out
}

// WhereGrad is torch.where(cond, a, b) with a gradient.
func WhereGrad(cond, a, b *Tensor) *Tensor {
	w := cond.w
	n := w.record("WhereBackward0", a, b)
	kept := n.save(cond)
	size := broadcast(broadcast(cond.size, a.size), b.size)
	w.Op("where")
	out := w.emptyStrided(size, iterStrides(size, cond, a, b), resultType(a, b))
	w.Launch(out, cond, a, b)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if n.needsGrad(1) {
			gb = kept.get().orNumber(g)
		}
		if n.needsGrad(0) {
			ga = kept.get().orNumber(g)
		}
		return inputGrads(ga, gb)
	})
	return n.result(out, cond, a, b)
}

// OneHot is F.one_hot(t, classes).
func (t *Tensor) OneHot(classes int) *Tensor {
	t.w.Op("zeros")
	out := t.w.Empty(t.size.Append(classes), Int64)
	dropTemporaries(t)
	return out
}

// Moved is torch.flip, roll, tril or triu: a copy with elements moved or set to zero. The gradient is moved the
// same way.
func (t *Tensor) Moved(op string) *Tensor {
	n := t.w.record("MovedBackward0", t)
	out := t.Pointwise(op, t.dtype)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Pointwise(op, g.dtype)) })
	return n.result(out, t)
}

// Roll is torch.roll along several dimensions: one copy after another.
func (t *Tensor) Roll(dims ...int) *Tensor {
	n := t.w.record("RollBackward0", t)
	out := t.rolled(len(dims))
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.rolled(len(dims))) })
	return n.result(out, t)
}

func (t *Tensor) rolled(times int) *Tensor {
	t.w.Op("roll")
	mark := t.w.pin()
	for range times {
		t = t.w.Empty(t.size, t.dtype)
		t.w.Launch(t, t)
		t.w.pin(t)
	}
	t.Hold()
	t.w.unpin(mark)
	return t.loosen()
}

// Repeat is t.repeat(times…), with one number for each dimension.
func (t *Tensor) Repeat(times ...int) *Tensor {
	w := t.w
	size, lead := Dims(times...), len(times)-t.size.n
	for i := range t.size.n {
		size.d[lead+i] *= t.size.d[i]
	}
	n := w.record("RepeatBackward0", t)
	w.Op("repeat")
	out := w.Empty(size, t.dtype)
	w.Launch(out, t)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.repeatGrad(times, from)) })
	return n.result(out, t)
}

// repeatGrad sums over the repetitions: the leading dimensions, and those that were repeated.
func (g *Tensor) repeatGrad(times []int, size Shape) *Tensor {
	lead := len(times) - size.n
	var shape Shape
	var dims []int
	for i, k := range times {
		switch {
		case i < lead:
			dims = append(dims, shape.n)
			shape = shape.Append(k)
		case k == 1:
			shape = shape.Append(size.d[i-lead])
		case size.d[i-lead] == 1: // PyTorch keeps this dimension, which has no effect on the memory
			dims = append(dims, shape.n)
			shape = shape.Append(k)
		default:
			dims = append(dims, shape.n)
			shape = shape.Append(k).Append(size.d[i-lead])
		}
	}
	if len(dims) == 0 {
		return g
	}
	split := g.ReshapeAs(shape)
	out := split.reduce("sum", dims, false, g.dtype)
	dropTemporaries(split)
	if out.size != size {
		out.size, out.stride = size, size.contiguous()
	}
	return out
}
