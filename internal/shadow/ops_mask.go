// SPDX-License-Identifier: Apache-2.0

package shadow

// Ops used to build masks. None of them has a gradient.

// And is t & o.
func (t *Tensor) And(o *Tensor) *Tensor {
	out := t.binary("bitwise_and", o, promote(t.dtype, o.dtype))
	dropTemporaries(t, o)
	return out
}

// Or is t | o.
func (t *Tensor) Or(o *Tensor) *Tensor {
	out := t.binary("bitwise_or", o, promote(t.dtype, o.dtype))
	dropTemporaries(t, o)
	return out
}

// Index is t[i, j, …] with integer indices. On the GPU all indices need the same strides; if their strides differ
// after broadcasting, each index is copied.
func (t *Tensor) Index(index ...*Tensor) *Tensor {
	w := t.w
	mark := w.pin(index...)
	size := index[0].size
	for _, i := range index[1:] {
		size = broadcast(size, i.size)
	}
	same := true
	wide := make([]*Tensor, len(index))
	for k, i := range index {
		wide[k] = i.ExpandAs(size)
		w.pin(wide[k])
		same = same && wide[k].stride == wide[0].stride
	}
	w.Op("index")
	if !same {
		for _, i := range wide {
			w.pin(i.Contiguous())
		}
	}
	for k := len(index); k < t.size.n; k++ {
		size = size.insert(size.n, t.size.d[k])
	}
	out := w.Empty(size, t.dtype)
	w.Launch(out, out)
	w.unpin(mark)
	dropTemporaries(t)
	return out
}

// Cumsum is t.cumsum(-1). A type other than int64 is first converted to int64 in a copy.
func (t *Tensor) Cumsum() *Tensor {
	w := t.w
	w.Op("cumsum")
	dt := t.dtype
	if !dt.Floating() {
		dt = Int64
	}
	out := w.emptyStrided(t.size, iterStrides(t.size, t), dt)
	var wide *storage
	if dt != t.dtype {
		wide = w.alloc(uint64(t.Numel()) * dt.Bytes())
	}
	if t.Numel() == t.Size(-1) { // CUB scans a single row, and needs memory for its tiles
		w.kernelScratch(w.Rules.Scan(t.Numel(), int(dt.Bytes())))
	}
	w.release(wide)
	w.Launch(out, t)
	dropTemporaries(t)
	return out
}

// Max is the largest element.
func (t *Tensor) Max() *Tensor {
	out := t.reduce("max", allDims(t.size), false, t.dtype)
	dropTemporaries(t)
	return out
}

// ScalarPow is number ** t. The number becomes a temporary tensor.
func (t *Tensor) ScalarPow() *Tensor {
	out := t.Pointwise("pow", t.dtype)
	t.w.Scratch(8)
	dropTemporaries(t)
	return out
}
