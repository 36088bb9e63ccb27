// SPDX-License-Identifier: Apache-2.0

package shadow

// Matrix products, and nn.Linear. cuBLAS workspaces are in workspace.go.

// Mm is a product of two matrices.
func (t *Tensor) Mm(o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, o}, func(a []*Tensor) *Tensor { return a[0].mm(a[1]) })
}

func (t *Tensor) mm(o *Tensor) *Tensor {
	w := t.w
	n := w.record("MmBackward0", t, o)
	mat2 := n.saveIf(n.needsGrad(0), o)
	self := n.saveIf(n.needsGrad(1), t)
	w.Op("mm")
	out := w.Empty(Dims(t.size.d[0], o.size.d[1]), t.dtype)
	w.cublas()
	w.product(out, t, o)
	colA, colB := columnMajor(t), columnMajor(o)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if self != nil && n.wants(1) {
			gb = mat2Grad(g, self.get(), colB)
		}
		if mat2 != nil && n.wants(0) {
			ga = mat1Grad(g, mat2.get(), colA)
		}
		return inputGrads(ga, gb)
	})
	return n.result(out, t, o)
}

// columnMajor reports whether a matrix is stored in column-major order.
func columnMajor(t *Tensor) bool {
	return t.stride.d[0] == 1 && t.stride.d[1] == t.size.d[0]
}

// mat1Grad returns the gradient of the first factor, in that factor's layout.
func mat1Grad(g, mat2 *Tensor, column bool) *Tensor {
	if column {
		return mat2.mm(g.T()).T()
	}
	return g.mm(mat2.T())
}

// mat2Grad returns the gradient of the second factor, in that factor's layout.
func mat2Grad(g, mat1 *Tensor, column bool) *Tensor {
	if column {
		return g.T().mm(mat1).T()
	}
	return mat1.T().mm(g)
}

// Addmm is bias + t @ o, which a Linear with a bias runs on matrices. cuBLASLt computes products with a vector
// bias.
func Addmm(bias, t, o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{bias, t, o}, func(a []*Tensor) *Tensor { return addmm(a[0], a[1], a[2]) })
}

func addmm(bias, t, o *Tensor) *Tensor {
	w := t.w
	n := w.record("AddmmBackward0", bias, t, o)
	mat1 := n.saveIf(n.needsGrad(2), t)
	mat2 := n.saveIf(n.needsGrad(1), o)
	w.Op("addmm")
	out := w.Empty(Dims(t.size.d[0], o.size.d[1]), t.dtype)
	if bias.Numel() == o.size.d[1] && o.size.d[0] > 1 && o.size.d[1] > 1 {
		w.cublasLt()
	} else {
		w.cublas()
	}
	w.product(out, t, o)
	colA, colB := columnMajor(t), columnMajor(o)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if mat2 != nil && n.wants(1) {
			ga = mat1Grad(g, mat2.get(), colA)
		}
		if mat1 != nil && n.wants(2) {
			gb = mat2Grad(g, mat1.get(), colB)
		}
		return inputGrads(g, ga, gb)
	})
	return n.result(out, bias, t, o)
}

// Bmm is a batch of products.
func (t *Tensor) Bmm(o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, o}, func(a []*Tensor) *Tensor { return a[0].bmm(a[1]) })
}

// AddBmm is torch.baddbmm(t, a, b) without factors: t plus the batched product of a and b.
func (t *Tensor) AddBmm(a, b *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, a, b}, func(x []*Tensor) *Tensor { return x[0].addBmm(x[1], x[2]) })
}

func (t *Tensor) addBmm(a, b *Tensor) *Tensor {
	w := t.w
	n := w.record("BaddbmmBackward0", t, a, b)
	batch2 := n.saveIf(n.needsGrad(1), b)
	batch1 := n.saveIf(n.needsGrad(2), a)
	w.Op("baddbmm")
	out := w.Empty(Dims(a.size.d[0], a.size.d[1], b.size.d[2]), a.dtype)
	w.cublas()
	w.product(out, a, b)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if batch2 != nil && n.wants(1) {
			ga = g.bmm(batch2.get().Transpose(1, 2))
		}
		if batch1 != nil && n.wants(2) {
			gb = batch1.get().Transpose(1, 2).bmm(g)
		}
		return inputGrads(g, ga, gb)
	})
	return n.result(out, t, a, b)
}

func (t *Tensor) bmm(o *Tensor) *Tensor {
	w := t.w
	n := w.record("BmmBackward0", t, o)
	mat2 := n.saveIf(n.needsGrad(0), o)
	self := n.saveIf(n.needsGrad(1), t)
	w.Op("bmm")
	out := w.Empty(Dims(t.size.d[0], t.size.d[1], o.size.d[2]), t.dtype)
	w.cublas()
	w.product(out, t, o)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if self != nil && n.wants(1) {
			gb = self.get().Transpose(1, 2).bmm(g)
		}
		if mat2 != nil && n.wants(0) {
			ga = g.bmm(mat2.get().Transpose(1, 2))
		}
		return inputGrads(ga, gb)
	})
	return n.result(out, t, o)
}

// Matmul is torch.matmul for any number of dimensions.
func (t *Tensor) Matmul(o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, o}, func(a []*Tensor) *Tensor { return a[0].matmul(a[1]) })
}

func (t *Tensor) matmul(o *Tensor) *Tensor {
	switch {
	case t.size.n == 2 && o.size.n == 2:
		return t.mm(o)
	case t.size.n >= 3 && o.size.n == 2 && (o.requiresGrad || foldable(t)):
		size := t.size.With(t.size.n-1, o.size.d[1])
		return t.Reshape(-1, t.Size(-1)).mm(o).unsafeView(size)
	}
	if t.size.n == 2 && o.size.n >= 3 && t.requiresGrad { // PyTorch computes the transposed product, folded, then transposes it back and copies
		size := o.size.With(o.size.n-2, o.Size(-1)).With(o.size.n-1, t.size.d[0])
		flat := o.Transpose(-2, -1).Reshape(-1, o.Size(-2)).mm(t.T())
		return flat.unsafeView(size).Transpose(-2, -1).Contiguous()
	}
	return t.batched(o)
}

// foldable reports whether the leading dimensions are adjacent in memory.
func foldable(t *Tensor) bool {
	for i := 0; i < t.size.n-2; i++ {
		if t.stride.d[i] != t.stride.d[i+1]*t.size.d[i+1] {
			return false
		}
	}
	return true
}

// batched expands the leading dimensions of both operands, flattens them (with a copy if they are not adjacent)
// and runs one bmm.
func (t *Tensor) batched(o *Tensor) *Tensor {
	lead := broadcast(front(t.size), front(o.size))
	n, k, m := t.Size(-2), t.Size(-1), o.Size(-1)
	flat := lead.Numel()
	a := t.ExpandAs(lead.insert(lead.n, n).insert(lead.n+1, k)).Reshape(flat, n, k)
	b := o.ExpandAs(lead.insert(lead.n, k).insert(lead.n+1, m)).Reshape(flat, k, m)
	return a.bmm(b).unsafeView(lead.insert(lead.n, n).insert(lead.n+1, m))
}

func front(s Shape) Shape {
	s.n -= 2
	return s
}

// Linear is F.linear(t, weight, bias).
func (t *Tensor) Linear(weight, bias *Tensor) *Tensor {
	if bias == nil {
		return t.w.autocasted([]*Tensor{t, weight}, func(a []*Tensor) *Tensor { return a[0].matmul(a[1].T()) })
	}
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor { return a[0].linearBias(a[1], a[2]) })
}

func (t *Tensor) linearBias(weight, bias *Tensor) *Tensor {
	switch {
	case t.size.n == 2:
		return addmm(bias, t, weight.T())
	case t.contiguous():
		size := t.size.With(t.size.n-1, weight.size.d[0])
		return addmm(bias, t.View(-1, t.Size(-1)), weight.T()).ViewAs(size)
	}
	if t.w.OutOfPlace {
		return t.matmul(weight.T()).Add(bias)
	}
	return t.matmul(weight.T()).addInPlace(bias)
}

// addInPlace is t.add_(o).
func (t *Tensor) addInPlace(o *Tensor) *Tensor {
	n := t.w.record("AddBackward0", t, o)
	t.w.Op("add_")
	t.w.Launch(t, o)
	if n == nil {
		dropTemporaries(o)
		return t
	}
	out := t.alias(t.size, t.stride)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g, g) })
	return n.result(out, t, o)
}

// Baddbmm is torch.baddbmm for a bias without gradient and two batches of matrices, with a scalar factor.
func (bias *Tensor) Baddbmm(t, o *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{bias, t, o}, func(a []*Tensor) *Tensor { return a[0].baddbmm(a[1], a[2]) })
}

func (bias *Tensor) baddbmm(t, o *Tensor) *Tensor {
	w := t.w
	n := w.record("BaddbmmBackward0", bias, t, o)
	batch1 := n.saveIf(n.needsGrad(2), t)
	batch2 := n.saveIf(n.needsGrad(1), o)
	w.Op("baddbmm")
	out := w.Empty(Dims(t.size.d[0], t.size.d[1], o.size.d[2]), t.dtype)
	w.cublas()
	w.product(out, t, o)
	n.backward(func(g *Tensor) []*Tensor {
		var ga, gb *Tensor
		if batch2 != nil && n.wants(1) {
			ga = g.bmm(batch2.get().Transpose(1, 2)).MulScalar()
		}
		if batch1 != nil && n.wants(2) {
			gb = batch1.get().Transpose(1, 2).bmm(g).MulScalar()
		}
		return inputGrads(nil, ga, gb)
	})
	return n.result(out, bias, t, o)
}
