// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// sumTo is at::sum_to: it reduces a gradient to the shape of an input that
// was broadcast.
func (t *Tensor) sumTo(size Shape) *Tensor {
	lead := t.size.n - size.n
	var dims []int
	for i := range t.size.n {
		if i < lead || (size.d[i-lead] == 1 && t.size.d[i] != 1) {
			dims = append(dims, i)
		}
	}
	out := t
	if len(dims) > 0 {
		out = t.reduce("sum", dims, true, t.w.summed(t.dtype))
	}
	if lead > 0 {
		out.Hold()
		v := out.alias(size, size.contiguous())
		out.Drop()
		out = v
	}
	return out
}

// summed returns the type of a sum. Under autocast, 16-bit floats are summed into float32, in backward too.
func (w *World) summed(dt DType) DType {
	if w.autocast != None && dt.Half() {
		return Float32
	}
	return dt
}

// reduce allocates the result of a reduction over dims, and the kernel's temporary memory if several blocks share
// one output.
func (t *Tensor) reduce(op string, dims []int, keep bool, dt DType) *Tensor {
	size := t.size
	for i := len(dims) - 1; i >= 0; i-- {
		if d := t.size.at(dims[i]); keep {
			size.d[d] = 1
		} else {
			size = size.Remove(d)
		}
	}
	t.w.Op(op)
	out := t.w.Empty(size, dt)
	var wide *storage
	if dt != t.dtype && !t.dtype.Floating() && dt != Bool && op != "argmax" { // integers are widened in a copy
		wide = t.w.alloc(uint64(t.Numel()) * dt.Bytes())
	}
	from := t.dtype
	if wide != nil {
		from = dt
	}
	t.w.reduceScratch(reductionOf(op, from), t, from, dims, dt)
	t.w.release(wide)
	t.w.launchRows(out, t)
	return out
}

// reduceScratch allocates and frees the workspace of the kernel that reduces t over dims into out. from is the
// type of the elements it reads: t's own, or a wider one that t was cast to.
func (w *World) reduceScratch(k kernel.Reduction, t *Tensor, from DType, dims []int, out DType) {
	x := kernel.Reduced{
		N: t.size.n, Size: t.size.d, Stride: t.stride.d, In: int(from.Bytes()), Out: int(out.Bytes()),
		Narrows: from.Half() && out == from,
	}
	for _, d := range dims {
		x.Over[t.size.at(d)] = true
	}
	accumulators, launches := w.Rules.Reduce(k, x)
	acc := w.alloc(accumulators)
	for _, l := range launches {
		buffer := w.alloc(l.Buffer)
		w.Scratch(l.Semaphores)
		w.release(buffer)
	}
	w.release(acc)
}

// reductionOf returns the kind of kernel behind an op.
func reductionOf(op string, dt DType) kernel.Reduction {
	switch op {
	case "any", "all":
		return kernel.ReduceSame(1)
	case "amax", "amin":
		return kernel.ReduceSame(int(dt.Bytes()))
	case "max", "min", "argmax", "argmin":
		return kernel.ReduceIndex
	case "var", "std", "var_mean":
		return kernel.ReduceWelford
	}
	return kernel.ReduceSum(int(dt.Bytes()))
}

// Mean is t.mean(dims). Its gradient is the incoming gradient, expanded and divided.
func (t *Tensor) Mean(keep bool, dims ...int) *Tensor {
	n := t.w.record("MeanBackward1", t)
	out := t.reduce("mean", dims, keep, t.dtype)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor {
		e := g.restore(from, dims, keep).Hold()
		out := e.DivScalar()
		e.Drop()
		return inputGrads(out)
	})
	return n.result(out, t)
}

// Sum is t.sum(dims). Its gradient is an expanded view of the incoming gradient.
func (t *Tensor) Sum(keep bool, dims ...int) *Tensor {
	n := t.w.record("SumBackward1", t)
	dt := t.dtype
	if !dt.Floating() {
		dt = Int64
	}
	dt = t.w.summed(dt)
	out := t.reduce("sum", dims, keep, dt)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.restore(from, dims, keep)) })
	return n.result(out, t)
}

// SumAs is t.sum(dims, dtype=dt).
func (t *Tensor) SumAs(dt DType, keep bool, dims ...int) *Tensor {
	n := t.w.record("SumBackward1", t)
	out := t.reduce("sum", dims, keep, dt)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.restore(from, dims, keep)) })
	return n.result(out, t)
}

// SumAll is t.sum().
func (t *Tensor) SumAll() *Tensor { return t.Sum(false, allDims(t.size)...) }

// All is t.all(). The result is one byte.
func (t *Tensor) All() *Tensor {
	out := t.reduce("all", allDims(t.size), false, Bool)
	dropTemporaries(t)
	return out
}

// Argmax is t.argmax(dim, keepdim), over all dimensions if none is given.
func (t *Tensor) Argmax(keep bool, dims ...int) *Tensor {
	if len(dims) == 0 {
		dims = allDims(t.size)
	}
	out := t.reduce("argmax", dims, keep, Int64)
	dropTemporaries(t)
	return out
}

// MaxDim is t.max(dim) outside the graph. It returns the values and their indices.
func (t *Tensor) MaxDim(keep bool, dim int) (values, indices *Tensor) {
	size := t.size.Remove(t.size.at(dim))
	if keep {
		size = t.size.With(t.size.at(dim), 1)
	}
	t.w.Op("max")
	values, indices = t.w.Empty(size, t.dtype).Hold(), t.w.Empty(size, Int64).Hold()
	t.w.reduceScratch(kernel.ReduceIndex, t, t.dtype, []int{dim}, t.dtype)
	dropTemporaries(t)
	return values.loosen(), indices.loosen()
}

// Norm is torch.linalg.vector_norm(t, dim=dims), over all dimensions if none is given. It records nothing
// for backward and does not drop t.
func (t *Tensor) Norm(dims ...int) *Tensor {
	if len(dims) == 0 {
		dims = allDims(t.size)
	}
	return t.reduce(vectorNorm, dims, false, t.dtype)
}

// NormInto is Norm, written to an existing tensor.
func (t *Tensor) NormInto(out *Tensor, dims ...int) {
	t.w.reduceScratch(reductionOf(vectorNorm, t.dtype), t, t.dtype, dims, out.dtype)
}

const vectorNorm = "linalg_vector_norm"

// restore restores reduced dimensions and expands g to the original shape.
func (g *Tensor) restore(size Shape, dims []int, keep bool) *Tensor {
	g.Hold()
	out := g.alias(g.size, g.stride)
	if !keep {
		for _, d := range sortedDims(size, dims) {
			out = out.Unsqueeze(d)
		}
	}
	out = out.ExpandAs(size)
	g.Drop()
	return out
}

// sortedDims resolves and sorts reduced dimensions.
func sortedDims(size Shape, dims []int) []int {
	var flag [MaxDims]bool
	for _, d := range dims {
		flag[size.at(d)] = true
	}
	var out []int
	for i := range size.n {
		if flag[i] {
			out = append(out, i)
		}
	}
	return out
}

func allDims(s Shape) []int {
	out := make([]int, s.n)
	for i := range out {
		out[i] = i
	}
	return out
}
