// SPDX-License-Identifier: Apache-2.0

package shadow

// GridSample is F.grid_sample(t, grid) of images or volumes, whose gradients are those of both (grid_sampler_2d and
// grid_sampler_3d in native/cuda/GridSampler.cpp). Autocast casts both to the wider of their types.
func (t *Tensor) GridSample(grid *Tensor) *Tensor {
	w := t.w
	if w.autocast != None && t.dtype != grid.dtype {
		fn := w.Func(t, grid)
		wide := promote(t.dtype, grid.dtype)
		fn.Set(&t, t.To(wide))
		fn.Set(&grid, grid.To(wide))
		return fn.Return(t.gridSample(grid))
	}
	return t.gridSample(grid)
}

func (t *Tensor) gridSample(grid *Tensor) *Tensor {
	w := t.w
	n := w.record("GridSamplerBackward0", t, grid)
	points, input := n.save(grid), n.save(t)
	w.Op("grid_sampler")
	size := t.size
	for i := 2; i < size.n; i++ {
		size.d[i] = grid.size.d[i-1]
	}
	out := w.Empty(size, t.dtype)
	w.Launch(out, t, grid)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("grid_sampler_backward")
		var dx *Tensor
		if n.needsGrad(0) {
			dx = input.get().EmptyLike(g.dtype)
		}
		dgrid := points.get().EmptyLike(g.dtype)
		w.Launch(dgrid, g)
		return inputGrads(dx, dgrid)
	})
	return n.result(out, t, grid)
}
