// SPDX-License-Identifier: Apache-2.0

package shadow

// SolveTriangular is torch.linalg.solve_triangular(t, b), where t has ones on its diagonal. The result is stored column
// by column.
func (t *Tensor) SolveTriangular(b *Tensor) *Tensor {
	w := t.w
	n := w.record("LinalgSolveTriangularBackward0", t, b)
	a := n.save(t)
	out := t.solve(b)
	x := n.save(out)
	n.backward(func(g *Tensor) []*Tensor {
		gb := a.get().solve(g).Hold() // with the transposed matrix
		var ga *Tensor
		if n.needsGrad(0) { // -(gb @ xᵀ).tril(-1)
			ga = gb.matmul(x.get().Transpose(-2, -1)).Neg()
			ga = ga.Plain("tril", ga.dtype)
		}
		return inputGrads(ga, gb.loosen())
	})
	return n.result(out, t, b)
}

// solve allocates the solution and, for many matrices, the arrays with their addresses: cuBLAS solves up to 8 large
// systems one by one.
func (t *Tensor) solve(b *Tensor) *Tensor {
	w := t.w
	w.Op("linalg_solve_triangular")
	rows, columns := b.size.n-2, b.size.n-1
	size, stride := b.size, b.size.contiguous()
	stride.d[rows], stride.d[columns] = 1, size.d[rows]
	out := w.emptyStrided(size, stride, b.dtype)
	systems := size.Numel() / (size.d[rows] * size.d[columns])
	if systems > 8 || size.d[rows] < 64 {
		first := w.alloc(uint64(systems) * 8)
		second := w.alloc(uint64(systems) * 8)
		w.release(second)
		w.release(first)
	}
	w.Launch(out, t, b)
	return out
}
