// SPDX-License-Identifier: Apache-2.0

package shadow

// Views: a different shape over the same memory. They allocate nothing in forward; some allocate memory in backward.

// view makes a differentiable view.
func (t *Tensor) view(name string, size, stride Shape, back func(g *Tensor) *Tensor) *Tensor {
	n := t.w.record(name, t)
	t.w.host(HostView)
	out := t.alias(size, stride)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(back(g)) })
	return n.result(out, t)
}

// View is Tensor.view; -1 stands for the remaining elements. It panics if the memory layout does not allow the
// view, where PyTorch raises an error.
func (t *Tensor) View(d ...int) *Tensor { return t.ViewAs(t.infer(d)) }

// ViewAs is View with a Shape.
func (t *Tensor) ViewAs(size Shape) *Tensor {
	stride, ok := viewStrides(t.size, t.stride, size)
	if !ok {
		panic("shadow: view of " + t.String() + " as " + size.String() + " needs a copy")
	}
	from := t.size
	return t.view("ViewBackward0", size, stride, func(g *Tensor) *Tensor { return g.ReshapeAs(from) })
}

// Reshape is Tensor.reshape: a view if possible, otherwise a copy.
func (t *Tensor) Reshape(d ...int) *Tensor { return t.ReshapeAs(t.infer(d)) }

// ReshapeAs is Reshape with a Shape.
func (t *Tensor) ReshapeAs(size Shape) *Tensor {
	if _, ok := viewStrides(t.size, t.stride, size); ok {
		return t.ViewAs(size)
	}
	return t.clone(t.size.contiguous()).unsafeView(size)
}

func (t *Tensor) unsafeView(size Shape) *Tensor {
	from := t.size
	return t.view("UnsafeViewBackward0", size, size.contiguous(), func(g *Tensor) *Tensor { return g.ReshapeAs(from) })
}

// infer returns the dimensions with any -1 resolved.
func (t *Tensor) infer(d []int) Shape {
	s := Dims(d...)
	known, hole := 1, -1
	for i, v := range d {
		if v == -1 {
			hole = i
		} else {
			known *= v
		}
	}
	if hole >= 0 {
		s.d[hole] = t.Numel() / max(known, 1)
	}
	if s.Numel() != t.Numel() {
		panic("shadow: " + t.String() + " does not have as many elements as " + s.String())
	}
	return s
}

// viewStrides is at::detail::computeStride: it returns the strides of a view if the dimensions to be joined or
// split are adjacent in memory.
func viewStrides(size, stride, to Shape) (Shape, bool) {
	out := Shape{n: to.n}
	if size.Numel() == 0 {
		return to.contiguous(), true
	}
	j := to.n - 1
	chunk := 1
	step := 1
	if size.n > 0 {
		step = stride.d[size.n-1]
	}
	base := step
	for i := size.n - 1; i >= 0; i-- {
		chunk *= size.d[i]
		if i > 0 && (size.d[i-1] == 1 || stride.d[i-1] == chunk*base) {
			continue
		}
		view := 1
		for j >= 0 && (view < chunk || to.d[j] == 1) {
			out.d[j] = view * base
			view *= to.d[j]
			j--
		}
		if view != chunk {
			return Shape{}, false
		}
		if i > 0 {
			base, chunk = stride.d[i-1], 1
		}
	}
	for ; j >= 0; j-- {
		out.d[j] = base
	}
	return out, true
}

// Transpose swaps two dimensions.
func (t *Tensor) Transpose(a, b int) *Tensor {
	a, b = t.size.at(a), t.size.at(b)
	size, stride := t.size, t.stride
	size.d[a], size.d[b] = size.d[b], size.d[a]
	stride.d[a], stride.d[b] = stride.d[b], stride.d[a]
	return t.view("TransposeBackward0", size, stride, func(g *Tensor) *Tensor { return g.Transpose(a, b) })
}

// T is Tensor.t() of a matrix.
func (t *Tensor) T() *Tensor { return t.Transpose(0, 1) }

// Permute reorders the dimensions.
func (t *Tensor) Permute(order ...int) *Tensor {
	size, stride := t.size, t.stride
	back := make([]int, len(order))
	for i, o := range order {
		size.d[i], stride.d[i] = t.size.d[o], t.stride.d[o]
		back[o] = i
	}
	return t.view("PermuteBackward0", size, stride, func(g *Tensor) *Tensor { return g.Permute(back...) })
}

// Unsqueeze adds a dimension of size one.
func (t *Tensor) Unsqueeze(i int) *Tensor {
	if i < 0 {
		i += t.size.n + 1
	}
	step := 1
	if i < t.size.n {
		step = t.size.d[i] * t.stride.d[i]
	}
	return t.view("UnsqueezeBackward0", t.size.insert(i, 1), t.stride.insert(i, step), func(g *Tensor) *Tensor { return g.Squeeze(i) })
}

// Squeeze removes a dimension of size one.
func (t *Tensor) Squeeze(i int) *Tensor {
	i = t.size.at(i)
	return t.view("SqueezeBackward1", t.size.Remove(i), t.stride.Remove(i), func(g *Tensor) *Tensor { return g.Unsqueeze(i) })
}

// Expand repeats dimensions of size one without copying; -1 keeps a size.
func (t *Tensor) Expand(d ...int) *Tensor {
	to := Dims(d...)
	for i := range to.n {
		if to.d[i] == -1 {
			to.d[i] = t.size.d[i-to.n+t.size.n]
		}
	}
	return t.ExpandAs(to)
}

// ExpandAs is Expand with a Shape.
func (t *Tensor) ExpandAs(to Shape) *Tensor {
	from := t.size
	stride := expandStrides(t.size, t.stride, to)
	for i := range t.size.n { // dimensions that do not change keep their stride, even those of size one
		if j := to.n - t.size.n + i; t.size.d[i] == to.d[j] {
			stride.d[j] = t.stride.d[i]
		}
	}
	return t.view("ExpandBackward0", to, stride, func(g *Tensor) *Tensor { return g.sumTo(from) })
}

// Slice is t[..., from:to:step, ...] along one dimension.
func (t *Tensor) Slice(dim, from, to int) *Tensor { return t.SliceStep(dim, from, to, 1) }

// SliceStep is Slice with a step. Python's indexing makes an alias if a slice
// selects everything.
func (t *Tensor) SliceStep(dim, from, to, step int) *Tensor {
	dim = t.size.at(dim)
	if from == 0 && to == t.size.d[dim] && step == 1 {
		return t.Alias()
	}
	return t.SliceOp(dim, from, to, step)
}

// SliceOp is torch.slice, which runs even if it selects everything: Python's indexing does not notice that a
// negative start may refer to the first element.
func (t *Tensor) SliceOp(dim, from, to, step int) *Tensor {
	full := t.size
	size := t.size.With(dim, (to-from+step-1)/step)
	stride := t.stride.With(dim, t.stride.d[dim]*step)
	return t.view("SliceBackward0", size, stride, func(g *Tensor) *Tensor {
		out := g.w.Empty(full, g.dtype)
		g.w.Launch(out, g)
		return out
	})
}

// Select is t[..., i, ...]: it selects one index and removes the dimension.
func (t *Tensor) Select(dim, _ int) *Tensor {
	dim = t.size.at(dim)
	full := t.size
	return t.view("SelectBackward0", t.size.Remove(dim), t.stride.Remove(dim), func(g *Tensor) *Tensor {
		out := g.w.Empty(full, g.dtype)
		g.w.Launch(out, g)
		return out
	})
}

// Diagonal is torch.diagonal: the diagonal of two dimensions as the last dimension, above the main one by offset.
func (t *Tensor) Diagonal(offset, a, b int) *Tensor {
	a, b = t.size.at(a), t.size.at(b)
	n := min(t.size.d[a], t.size.d[b]-offset)
	if offset < 0 {
		n = min(t.size.d[a]+offset, t.size.d[b])
	}
	full, first, second := t.size, max(a, b), min(a, b)
	step := t.stride.d[a] + t.stride.d[b]
	size := t.size.Remove(first).Remove(second).Append(max(n, 0))
	stride := t.stride.Remove(first).Remove(second).Append(step)
	return t.view("DiagonalBackward0", size, stride, func(g *Tensor) *Tensor {
		out := g.w.Empty(full, g.dtype)
		g.w.Launch(out, g)
		return out
	})
}

// Unfold is t.unfold(dim, size, step): windows of one dimension, whose elements are the last dimension. Its backward
// adds them into zeros.
func (t *Tensor) Unfold(dim, window, step int) *Tensor {
	dim = t.size.at(dim)
	full := t.size
	size := t.size.With(dim, (t.size.d[dim]-window)/step+1).Append(window)
	stride := t.stride.With(dim, t.stride.d[dim]*step).Append(t.stride.d[dim])
	return t.view("UnfoldBackward0", size, stride, func(g *Tensor) *Tensor {
		out := g.w.Empty(full, g.dtype)
		g.w.Launch(out, g)
		return out
	})
}

// Split is torch.split or chunk: views along one dimension that share one node. Its backward joins the parts in
// one copy, with zeros for parts without a gradient.
func (t *Tensor) Split(dim int, sizes ...int) []*Tensor {
	dim = t.size.at(dim)
	w, full := t.w, t.size
	n := w.record("SplitBackward0", t)
	out := make([]*Tensor, len(sizes))
	for i, s := range sizes {
		out[i] = t.alias(t.size.With(dim, s), t.stride)
		n.output(out[i], int32(i))
	}
	dt := t.dtype
	n.backwards(func(g []*Tensor) []*Tensor {
		var zeros []*Tensor
		last := true // cat keeps the layout of images, which gradients of four dimensions may have by chance
		for i, s := range sizes {
			if i >= len(g) || g[i] == nil {
				zeros = append(zeros, w.Empty(full.With(dim, s), dt).Hold())
				last = false
			} else {
				last = last && g[i].channelsLast()
			}
		}
		stride := full.contiguous()
		if last {
			stride = layout(full, true)
		}
		sum := w.emptyStrided(full, stride, dt)
		w.Launch(sum, sum)
		for _, z := range zeros {
			z.Drop()
		}
		return inputGrads(sum)
	})
	dropTemporaries(t)
	return out
}

// Unbind is torch.unbind: it removes a dimension and returns one view for each of its indices. The views share
// one node, which stacks their gradients in backward.
func (t *Tensor) Unbind(dim int) []*Tensor {
	dim = t.size.at(dim)
	w, full, dt := t.w, t.size, t.dtype
	n := w.record("UnbindBackward0", t)
	out := make([]*Tensor, t.size.d[dim])
	for i := range out {
		out[i] = t.alias(t.size.Remove(dim), t.stride.Remove(dim))
		n.output(out[i], int32(i))
	}
	n.backwards(func(g []*Tensor) []*Tensor {
		w.Op("stack")
		sum := w.Empty(full, dt)
		w.Launch(sum, sum)
		return inputGrads(sum)
	})
	dropTemporaries(t)
	return out
}

// Chunk is torch.chunk: parts of equal size, except that the last may be smaller. It may return fewer parts than
// requested.
func (t *Tensor) Chunk(parts, dim int) []*Tensor {
	left := t.Size(dim)
	each := max((left+parts-1)/parts, 1)
	var sizes []int
	for ; left > 0; left -= each {
		sizes = append(sizes, min(each, left))
	}
	return t.Split(dim, sizes...)
}

// Contiguous returns t itself if it is row-major, otherwise a copy.
func (t *Tensor) Contiguous() *Tensor {
	if t.contiguous() {
		return t
	}
	return t.clone(t.size.contiguous())
}

// Clone copies t and keeps its layout.
func (t *Tensor) Clone() *Tensor { return t.clone(t.cloneStrides()) }

// cloneStrides returns t's own layout if it is dense, otherwise the nearest dense one.
func (t *Tensor) cloneStrides() Shape {
	if isDense(t.size, t.stride) {
		return t.stride
	}
	return iterStrides(t.size, t)
}

func (t *Tensor) clone(stride Shape) *Tensor {
	n := t.w.record("CloneBackward0", t)
	t.w.Op("clone")
	out := t.w.emptyStrided(t.size, stride, t.dtype)
	t.w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g) })
	return n.result(out, t)
}

// To is Tensor.to(dtype): t itself if it already has that type.
func (t *Tensor) To(dt DType) *Tensor {
	if t.dtype == dt {
		return t
	}
	return t.cast(dt)
}

// Float is Tensor.float().
func (t *Tensor) Float() *Tensor { return t.To(Float32) }

// ToRowMajor is Tensor.to(dtype, memory_format=torch.contiguous_format): t itself if it already has that type.
func (t *Tensor) ToRowMajor(dt DType) *Tensor {
	if t.dtype == dt {
		return t
	}
	n := t.w.record("ToCopyBackward0", t)
	t.w.Op("_to_copy")
	out := t.w.Empty(t.size, dt)
	t.w.Launch(out, t)
	from := t.dtype
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.To(from)) })
	return n.result(out, t)
}

// cast copies t to another type, keeping its layout. Unlike other ops, it does not free a temporary argument when
// called inside an op.
func (t *Tensor) cast(dt DType) *Tensor {
	n := t.w.record("ToCopyBackward0", t)
	t.w.Op("_to_copy")
	out := t.EmptyLike(dt)
	t.w.Launch(out, t)
	from := t.dtype
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.To(from)) })
	return n.result(out, t)
}

// Cat joins tensors along a dimension, in row-major order. A nil tensor comes from a loop iteration that was not
// simulated, and has the shape of the first one.
func Cat(dim int, ts ...*Tensor) *Tensor {
	w := ts[0].w
	dim = ts[0].size.at(dim)
	size, dt := ts[0].size, ts[0].dtype
	collected := w.collected(ts)
	ends := make([]int, len(ts))
	size.d[dim] = 0
	for i, t := range ts {
		ends[i] = t.size.d[dim]
		dt = promote(dt, t.dtype)
		size.d[dim] += w.times(i, collected) * ends[i]
	}
	n := w.record("CatBackward0", ts...)
	w.Op("cat")
	last := size.n == 4
	for _, t := range ts {
		last = last && t.channelsLast()
	}
	out := w.Empty(size, dt)
	if last { // images that are all channels last
		out.stride = layout(size, true)
	}
	w.Launch(out, out)
	n.backward(func(g *Tensor) []*Tensor {
		grads, at := make([]*Tensor, len(ends)), 0
		for i := range w.each(len(ends), collected) {
			grads[i] = g.Slice(dim, at, at+ends[i])
			at += w.times(i, collected) * ends[i]
		}
		return grads
	})
	return n.result(out, ts...)
}

// Stack joins tensors along a new dimension.
func Stack(dim int, ts ...*Tensor) *Tensor {
	parts := make([]*Tensor, len(ts))
	for i := range ts[0].w.each(len(ts), ts[0].w.collected(ts)) {
		parts[i] = ts[i].Unsqueeze(dim)
	}
	return Cat(dim, parts...)
}
