// SPDX-License-Identifier: Apache-2.0

package shadow

// normGrad is the backward of layer norm and of the fused RMS norm
// (aten/src/ATen/native/cuda/layer_norm_kernel.cu, 2.11): it returns those gradients of
// input, weight and bias that are needed. With very many short rows, those of weight
// and bias are summed in two passes, through partial sums.
func (w *World) normGrad(op string, g, x, weight *Tensor, want [3]bool) (dx, dw, db *Tensor) {
	w.Op(op)
	mark := w.pin(x.Contiguous())
	if want[0] {
		dx = w.Empty(x.size, x.dtype)
	}
	if want[1] {
		dw = w.Empty(weight.size, weight.dtype)
	}
	if want[2] {
		db = w.Empty(weight.size, weight.dtype)
	}
	w.pin(g.Contiguous())
	if rows := w.normPartials(x); rows > 0 {
		partW, partB := w.partialsOf(dw, rows), w.partialsOf(db, rows)
		dw, db = sumPartials(partW, dw), sumPartials(partB, db)
		partB.Drop()
		partW.Drop()
	}
	w.Launch(dx, g, x)
	w.unpin(mark)
	return dx, dw, db
}

// normPartials returns how many rows of partial sums there are for x.
func (w *World) normPartials(x *Tensor) int {
	n := x.Size(-1)
	row := max(uint64(n)*x.dtype.Bytes(), 1)
	return int(w.kernelBytes(w.Rules.NormPartials(x.Numel()/n, n).Times(row)) / row)
}

func (w *World) partialsOf(d *Tensor, rows int) *Tensor {
	if d == nil {
		return nil
	}
	return w.Empty(Dims(rows, d.Numel()), d.dtype).Hold()
}

// sumPartials is *d = partials.sum(0): the old memory is freed once the sum exists.
func sumPartials(partials, d *Tensor) *Tensor {
	if d == nil {
		return nil
	}
	sum := partials.reduce("sum", []int{0}, false, d.dtype)
	d.die()
	return sum
}
