// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Functions that make tensors of certain shapes, and methods that give tensors other shapes.

func registerShaping() {
	natives["torch.linspace"] = linspace(shadow.Float32)
	natives["torch.logspace"] = linspace(shadow.Float32)
	natives["torch.eye"] = eye
	natives["torch.normal"] = randomNormal
	natives["torch.tril_indices"] = triangleIndices
	natives["torch.triu_indices"] = triangleIndices
	natives["torch.meshgrid"] = meshgrid
	natives["torch.searchsorted"] = searchSorted(0, 1, "sorted_sequence", "input")
	natives["torch.bucketize"] = searchSorted(1, 0, "boundaries", "input")
	natives["torch.vstack"] = concatenated(vstacked)
	for name, f := range map[string]func(*interpreter, *shadow.Tensor, arguments) value{
		"unflatten": unflattens, "unfold": windows, "narrow": narrows, "movedim": movesDims, "moveaxis": movesDims, "tile": tiles, "unsqueeze_": tensorDim((*shadow.Tensor).Unsqueeze),
		"squeeze_": tensorSqueeze, "broadcast_to": expands, "cumprod": tensorCumprod, "diagonal": diagonals, "diag": diagonalCopy, "ravel": tensorFlatten, "swapdims": tensorTranspose,
		"less": comparing("<"), "greater": comparing(">"), "greater_equal": comparing(">="), "less_equal": comparing("<="), "not_equal": comparing("!="),
		"floor_divide": other("//"), "remainder": other("%"), "fmod": other("%"), "bitwise_and": other("&"), "bitwise_or": other("|"), "bitwise_xor": other("^"),
	} {
		tensorMethods[name] = f
		if _, ok := natives["torch."+name]; !ok {
			natives["torch."+name] = onTensor(name)
		}
	}
}

// eye implements torch.eye(n, m).
func eye(in *interpreter, a arguments) value {
	n, ok := a.or(0, "n", nil).(int)
	m, okM := a.or(1, "m", n).(int)
	if !ok || !okM {
		return unknown{}
	}
	t := &hostTensor{size: []int{n, m}, dtype: shadow.Float32}
	if dt, ok := a.or(-1, "dtype", nil).(dtypeValue); ok {
		t.dtype = shadow.DType(dt)
	}
	return in.placedOn(t, a)
}

// randomNormal implements torch.normal(mean, std, size), whose mean and std may be tensors.
func randomNormal(in *interpreter, a arguments) value {
	if d := numbersOf(a.or(2, "size", nil)); d != nil {
		return in.placedOn(&hostTensor{size: d, dtype: shadow.Float32}, a)
	}
	for _, v := range []value{a.or(0, "mean", nil), a.or(1, "std", nil)} {
		switch v := v.(type) {
		case *shadow.Tensor:
			return v.RandnLike().Hold()
		case *hostTensor:
			return &hostTensor{size: v.size, dtype: v.dtype}
		}
	}
	return unknown{}
}

// triangleIndices implements torch.tril_indices and triu_indices of a square without its diagonal, or with it.
func triangleIndices(in *interpreter, a arguments) value {
	rows, okR := a.or(0, "row", nil).(int)
	columns, okC := a.or(1, "col", nil).(int)
	offset, okO := a.or(2, "offset", 0).(int)
	if !okR || !okC || !okO || rows != columns {
		return unknown{}
	}
	side := max(rows-max(offset, -offset), 0)
	return in.placedOn(&hostTensor{size: []int{2, side * (side + 1) / 2}, dtype: shadow.Int64}, a)
}

// meshgrid implements torch.meshgrid(a, b, …): expanded views.
func meshgrid(in *interpreter, a arguments) value {
	vs := a.pos
	if l, ok := a.or(0, "tensors", nil).(*list); ok {
		vs = l.items
	}
	var size []int
	for _, v := range vs {
		switch v := v.(type) {
		case *hostTensor:
			size = append(size, v.numel())
		case *shadow.Tensor:
			size = append(size, v.Numel())
		default:
			return unknown{}
		}
	}
	swaps := a.or(-1, "indexing", "ij") == "xy" && len(size) > 1
	if swaps {
		size[0], size[1] = size[1], size[0]
	}
	out := &list{tuple: true}
	for i, v := range vs {
		if h, ok := v.(*hostTensor); ok {
			out.items = append(out.items, &hostTensor{size: slices.Clone(size), dtype: h.dtype})
			continue
		}
		at := i
		if swaps && i < 2 {
			at = 1 - i
		}
		one := slices.Repeat([]int{1}, len(size))
		one[at] = size[at]
		out.items = append(out.items, v.(*shadow.Tensor).View(one...).Expand(size...).Hold())
	}
	return out
}

// vstacked implements torch.vstack, which makes rows of vectors.
func vstacked(_ int, ts ...*shadow.Tensor) *shadow.Tensor {
	rows := slices.Clone(ts)
	for i, t := range rows {
		if t.Dim() == 1 {
			rows[i] = t.Unsqueeze(0)
		}
	}
	return shadow.Cat(0, rows...)
}

// unflattens implements t.unflatten(dim, sizes): a view.
func unflattens(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, ok := a.or(0, "dim", nil).(int)
	if dim < 0 {
		dim += t.Dim()
	}
	if !ok || dim < 0 || dim >= t.Dim() {
		return in.lost(t, "unflatten")
	}
	parts := inferred(numbersOf(a.or(1, "sizes", nil)), t.Size(dim))
	if parts == nil {
		return in.lost(t, "unflatten")
	}
	size := slices.Concat(sizeOf(t)[:dim], parts, sizeOf(t)[dim+1:])
	return t.View(size...).Hold()
}

// narrows implements t.narrow(dim, start, length): a view.
func narrows(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, okD := a.or(0, "dim", nil).(int)
	n, okN := a.or(2, "length", nil).(int)
	if !okD || !okN {
		return in.lost(t, "narrow")
	}
	start, _ := a.or(1, "start", 0).(int)
	return t.SliceOp(dim, start, start+n, 1).Hold()
}

// movesDims implements t.movedim(from, to) for one dimension.
func movesDims(in *interpreter, t *shadow.Tensor, a arguments) value {
	from, okF := a.or(0, "source", nil).(int)
	to, okT := a.or(1, "destination", nil).(int)
	if !okF || !okT {
		return in.lost(t, "movedim")
	}
	n := t.Dim()
	from, to = (from+n)%n, (to+n)%n
	var order []int
	for i := range n {
		if i != from {
			order = append(order, i)
		}
	}
	return t.Permute(slices.Insert(order, to, from)...).Hold()
}

// tiles implements t.tile(times), which is repeat with ones in front.
func tiles(in *interpreter, t *shadow.Tensor, a arguments) value {
	times := sizes(a)
	if len(times) == 0 {
		return in.lost(t, "tile")
	}
	for len(times) < t.Dim() {
		times = slices.Insert(times, 0, 1)
	}
	return t.Repeat(times...).Hold()
}

// diagonals implements t.diagonal(offset, dim1, dim2): a view.
func diagonals(in *interpreter, t *shadow.Tensor, a arguments) value {
	offset, okO := a.or(0, "offset", 0).(int)
	first, okF := a.or(1, "dim1", 0).(int)
	second, okS := a.or(2, "dim2", 1).(int)
	if !okO || !okF || !okS || t.Dim() < 2 {
		return in.lost(t, "diagonal")
	}
	return t.Diagonal(offset, first, second).Hold()
}

// diagonalCopy implements torch.diag(t, diagonal): a diagonal of a matrix, or a matrix with t on a diagonal.
func diagonalCopy(in *interpreter, t *shadow.Tensor, a arguments) value {
	offset, ok := a.or(0, "diagonal", 0).(int)
	switch {
	case ok && t.Dim() == 2:
		return t.Diagonal(offset, 0, 1).Clone().Hold()
	case ok && t.Dim() == 1:
		n := t.Size(0) + max(offset, -offset)
		if offset == 0 {
			return t.Unsqueeze(1).Expand(n, n).Clone().Hold()
		}
		if !t.RequiresGrad() {
			return in.World.Empty(shadow.Dims(n, n), t.DType()).Hold()
		}
	}
	return in.lost(t, "diag")
}

// windows implements t.unfold(dimension, size, step): a view.
func windows(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, okD := a.or(0, "dimension", nil).(int)
	size, okS := a.or(1, "size", nil).(int)
	step, okT := a.or(2, "step", nil).(int)
	if !okD || !okS || !okT || step < 1 || t.Dim() == 0 || size > t.Size(dim) {
		return in.lost(t, "unfold")
	}
	return t.Unfold(dim, size, step).Hold()
}

// searchSorted implements torch.searchsorted(sorted, values) and, with the other order, torch.bucketize(input, boundaries).
func searchSorted(sorted, values int, names ...string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		x, ok := card(a, sorted, names[0])
		dt := shadow.Int64
		if narrow, _ := a.or(-1, "out_int32", false).(bool); narrow {
			dt = shadow.Int32
		}
		if v, known := card(a, values, names[1]); ok && known {
			return x.SearchSorted(v, dt).Hold()
		}
		in.noteTensors("searchsorted with a number", a)
		return unknown{}
	}
}

// tensorCumprod implements t.cumprod(dim).
func tensorCumprod(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, ok := a.or(0, "dim", nil).(int)
	if !ok {
		return in.lost(t, "cumprod")
	}
	return t.Cumprod(dim).Hold()
}
