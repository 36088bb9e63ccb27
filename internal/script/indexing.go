// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// indexTensor returns t[key].
func (in *interpreter) indexTensor(t *shadow.Tensor, key value) value {
	keys := []value{key}
	if l, ok := key.(*list); ok && l.tuple {
		keys = l.items
	}
	out, dim := t.Hold(), 0
	for i := 0; i < len(keys); i++ {
		next := out
		switch k := keys[i].(type) {
		case ellipsis:
			dim = out.Dim() - dimsAfter(keys)
		case int:
			next = out.Select(dim, k)
		case *place:
			next = out.Select(dim, 0)
		case *slice:
			next = sliced(out, dim, k, len(keys) == 1)
			dim++
		case nil:
			next = out.Unsqueeze(dim)
			dim++
		case *shadow.Tensor, *hostTensor, *list:
			by := in.indices(keys[i:])
			if len(by) == 0 {
				in.note("this kind of tensor index is not simulated")
				dim++
				break
			}
			next = in.indexed(out, dim, by)
			dim += by[0].Dim()
			i += len(by) - 1
			dropTensors(by)
		default:
			in.note("this kind of tensor index is not simulated")
			dim++
		}
		if next != out {
			next.Hold()
			out.Drop()
			out = next
		}
	}
	return out
}

// sliced slices one dimension. A slice of the whole dimension is skipped unless it is the only index or its start
// is negative.
func sliced(t *shadow.Tensor, dim int, k *slice, alone bool) *shadow.Tensor {
	lo, hi := k.bounds(t.Size(dim))
	if step, ok := k.step.(int); ok && step > 1 {
		return t.SliceStep(dim, lo, hi, step)
	}
	if first, ok := k.lo.(int); ok && first < 0 {
		return t.SliceOp(dim, lo, hi, 1)
	}
	if hi-lo != t.Size(dim) || alone {
		return t.Slice(dim, lo, hi)
	}
	return t
}

// indices returns the leading tensors of an index, each with a reference. Host tensors are copied to the card.
func (in *interpreter) indices(keys []value) []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, k := range keys {
		switch k := k.(type) {
		case *shadow.Tensor:
			out = append(out, k.Hold())
			continue
		case *hostTensor:
			there := in.onto(k)
			if c, ok := in.contentsOf(k); ok {
				in.learn(there, c)
			}
			out = append(out, there)
			continue
		case *list:
			if ns := ints(k.items); len(ns) > 0 && !k.tuple {
				out = append(out, in.onto(&hostTensor{size: []int{len(ns)}, dtype: shadow.Int64}))
				continue
			}
		}
		break
	}
	return out
}

func dropTensors(ts []*shadow.Tensor) {
	for _, t := range ts {
		t.Drop()
	}
}

// maskedInside implements t[:, mask], for a mask that starts at dimension dim. As in PyTorch, the masked dimensions are
// moved to the front, and the result has the selected elements where they were.
func (in *interpreter) maskedInside(t *shadow.Tensor, dim int, mask *shadow.Tensor) *shadow.Tensor {
	var order, back []int
	for i := range t.Dim() {
		switch n := mask.Dim(); {
		case i < n:
			order = append(order, dim+i)
		case i < dim+n:
			order = append(order, i-n)
		default:
			order = append(order, i)
		}
	}
	picked := in.indexed(t.Permute(order...), 0, []*shadow.Tensor{mask})
	for i := range picked.Dim() {
		switch {
		case i < dim:
			back = append(back, i+1)
		case i == dim:
			back = append(back, 0)
		default:
			back = append(back, i)
		}
	}
	return picked.Permute(back...)
}

// indexed implements t[mask] and t[indices], starting at dimension dim.
func (in *interpreter) indexed(t *shadow.Tensor, dim int, by []*shadow.Tensor) *shadow.Tensor {
	if by[0].DType() == shadow.Bool {
		if dim > 0 && len(by) == 1 && dim+by[0].Dim() <= t.Dim() {
			return in.maskedInside(t, dim, by[0])
		}
		if dim > 0 || len(by) > 1 {
			in.note("a mask over dimensions other than the first is not followed")
			return t
		}
		if n, known := in.selected(by[0]); known {
			return t.MaskedSome(by[0], n)
		}
		if in.World == in.host { // it needs no memory on the card
			return t.Masked(by[0])
		}
		in.note("the number of elements that this mask selects is not known; all are counted, which is the maximum")
		in.result.Masks = true
		if in.NoneSelected {
			return t.MaskedSome(by[0], 1)
		}
		return t.Masked(by[0])
	}
	return t.IndexAt(dim, by...)
}

// setElements implements t[key] = v, in place. Only a mask needs memory, for its positions.
func (in *interpreter) setElements(t *shadow.Tensor, key, v value) {
	if x, ok := v.(*shadow.Tensor); ok && in.World.GradEnabled() && (t.RequiresGrad() || x.RequiresGrad()) {
		if x.RequiresGrad() && isPlainIndex(key) && !t.IsView() {
			t.CopySlice(x)
			return
		}
		in.note("the gradient of an assignment to part of a tensor is not followed")
	}
	mask, ok := key.(*shadow.Tensor)
	if x, isTensor := v.(*shadow.Tensor); ok && isTensor && mask.DType() == shadow.Bool && x.Dim() > 0 {
		t.PutMasked(mask)
		return
	}
	in.World.Op("copy_")
}

// isPlainIndex reports whether a key selects a part of a tensor with numbers and slices, so that the part is a view.
func isPlainIndex(key value) bool {
	switch k := key.(type) {
	case int, *slice, ellipsis, nil:
		return true
	case *list:
		return k.tuple && !slices.ContainsFunc(k.items, func(v value) bool { return !isPlainIndex(v) })
	}
	return false
}

// product returns a @ b.
func product(a, b *shadow.Tensor) *shadow.Tensor {
	switch {
	case a.Dim() == 1 && b.Dim() == 1:
		return a.Dot(b)
	case a.Dim() == 2 && b.Dim() == 1:
		return a.Mv(b)
	}
	return a.Matmul(b)
}
