// SPDX-License-Identifier: Apache-2.0

package shadow

// GroupedMm is torch._grouped_mm(t, o, offs): each block of rows of t (S, K) is multiplied by its own matrix of o
// (G, K, N). The blocks end at offs.
func (t *Tensor) GroupedMm(o, offs *Tensor) *Tensor {
	w := t.w
	n := w.record("GroupedMmBackward0", t, o)
	mat2 := n.saveIf(n.needsGrad(0), o)
	kept := n.save(offs)
	self := n.saveIf(n.needsGrad(1), t)
	groups := o.Size(0)
	w.Op("_grouped_mm")
	out := w.groupedProduct(Dims(t.Size(0), o.Size(2)), t.dtype, groups)
	w.product(out, t, o)
	column := o.stride.d[1] == 1
	n.backward(func(g *Tensor) []*Tensor {
		var gs, g2 *Tensor
		_ = kept
		if self != nil { // the gradient of o, in o's layout
			size := Dims(groups, self.get().Size(1), g.Size(1))
			if column {
				size = Dims(groups, g.Size(1), self.get().Size(1))
			}
			w.Op("_grouped_mm")
			g2 = w.groupedProduct(size, g.dtype, groups)
			w.product(g2, g, g)
			if column {
				g2 = g2.Transpose(1, 2)
			}
		}
		if mat2 != nil {
			w.Op("_grouped_mm")
			gs = w.groupedProduct(Dims(g.Size(0), mat2.get().Size(1)), g.dtype, groups)
			w.product(gs, g, g)
		}
		return inputGrads(gs, g2)
	})
	return n.result(out, t, o, offs)
}

// groupedProduct allocates a result and the grouped kernel's workspace. Without a grouped kernel, cuBLAS computes
// one group after the other.
func (w *World) groupedProduct(size Shape, dt DType, groups int) *Tensor {
	out := w.Empty(size, dt)
	args, maps, ok := w.Rules.Grouped(dt.Kernel(), groups)
	if !ok {
		w.cublas()
		return out
	}
	held := w.alloc(args)
	w.Scratch(maps)
	w.release(held)
	return out
}
