// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Learned positions of a vision tower, resampled bilinearly to the grids of the batch's images: vision_utils.py,
// get_vision_interpolation_indices_and_weights.

// interpolation returns, for each patch, four rows of the table of positions and their weights.
func (v *qwenVisual) interpolation(grid *shadow.Tensor, patches int) (indices, weights *shadow.Tensor) {
	fn := v.w.Func(grid)
	counts := fn.Let(grid.Select(1, 0).Mul(grid.Select(1, 1)).Mul(grid.Select(1, 2)))
	heights := fn.Let(grid.Select(1, 1).RepeatedBy(counts, patches))
	widths := fn.Let(grid.Select(1, 2).RepeatedBy(counts, patches))
	starts := fn.Let(counts.Cumsum().SliceOp(0, 0, counts.Size(0)-1, 1).Pad(1, 0).RepeatedBy(counts, patches))
	total := counts.SumAll().Hold()
	all := v.w.Arange(patches).Hold()
	total.Drop()
	inner := v.w.Func(all)
	all.Drop()
	from := inner.Return(all.Sub(starts))
	within := fn.Let(from.Sub(heights.Mul(widths))) // a remainder
	blocks := fn.Let(widths.FloorDivide())
	inCol := fn.Let(within.FloorDivide())
	inRow := fn.Let(within.FloorDivide().FloorDivide())
	col := fn.Let(within.FloorDivide().Sub(blocks))
	row := fn.Let(within.Sub(blocks.MulScalar()))
	row = fn.Let(row.MulScalar().Add(inRow))
	col = fn.Let(col.MulScalar().Add(inCol))

	rows, rowWeights := fn.Let2(v.taps(row, heights))
	columns, columnWeights := fn.Let2(v.taps(col, widths))
	indices = fn.Let(rows.Unsqueeze(2).MulScalar().Add(columns.Unsqueeze(1)).Reshape(-1, 4))
	weights = fn.Let(rowWeights.Unsqueeze(2).Mul(columnWeights.Unsqueeze(1)).Reshape(-1, 4))
	return fn.Return2(indices, weights)
}

// taps is _interpolation_axis_taps_weights: two positions along one side of the table, and their weights.
func (v *qwenVisual) taps(index, size *shadow.Tensor) (taps, weights *shadow.Tensor) {
	fn := v.w.Func(index, size)
	fn.Set(&index, index.To(shadow.Float32))
	src := fn.Let(index.MulScalar().Div(size.AddScalar().Plain("clamp", shadow.Int64)))
	floor := fn.Let(src.Plain("floor", shadow.Float32))
	offsets := fn.Let(v.w.Arange(2))
	raw := fn.Let(floor.To(shadow.Int64).Unsqueeze(1).Add(offsets))
	taps = fn.Let(raw.Plain("clamp", shadow.Int64))
	distance := fn.Let(src.Unsqueeze(1).Sub(floor.Unsqueeze(1)).Sub(offsets).Abs())
	weights = fn.Let(distance.RSubScalar().Plain("clamp", shadow.Float32))
	return fn.Return2(taps, weights)
}
